"""All mirrors of this broker: added, shown, promoted, removed; they outlive a restart.

What a mirror is stands in the catalogue, and so do the topics that it has made. A
change is made by one at a time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.metadata.topic_names import check_name
from odradek.broker.replica.following import Following
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.client.errors import TlsFailed
from odradek.protocol.errors import KafkaError

from .mirror import Mirror, MirrorParts
from .mirror_error import MirrorError
from .promotion import Promotion
from .settings import MirrorSettings
from .source import Source

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator

    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.coordinator.transaction.service import TransactionCoordinator
    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.mirrored_topics import MirroredTopics
    from odradek.broker.metadata.producer_ids import ProducerIds
    from odradek.broker.metadata.resource_options import ResourceOptions
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.storage.directory.log_manager import LogManager

    from .source import SourceView


class Promoted(NamedTuple):
    """A topic that is no copy any more, and where its partitions end."""

    topic: str
    ends: dict[int, int]


class Mirrors:
    """The mirrors, by their names."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        topics: Topics,
        resources: ResourceOptions,
        mirrored: MirroredTopics,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        committer: Committer,
        groups: GroupCoordinator,
        transactions: TransactionCoordinator,
        producer_ids: ProducerIds,
        live: LiveConfig,
        clock: Clock,
        bugs: Bugs,
        make_source: Callable[[MirrorSettings], Source] = Source,
    ) -> None:
        following = Following(topics, replica_manager, log_manager, clock)
        self._parts = MirrorParts(
            topics, mirrored, following, groups, live, clock, bugs
        )
        self._promotion = Promotion(
            topics, mirrored, following, committer, producer_ids, transactions
        )
        self._resources = resources
        self._producer_ids = producer_ids
        self._make_source = make_source
        self._running: dict[str, Mirror] = {}
        self._changing = asyncio.Lock()

    def __iter__(self) -> Iterator[Mirror]:
        return iter(self._running.values())

    def start(self) -> None:
        """Go on with all mirrors there are."""
        for name, options in list(self._resources.all_of(ResourceKind.MIRROR)):
            self._start(MirrorSettings.read(name, options))

    async def close(self) -> None:
        """Return when nothing is copied any more."""
        await asyncio.gather(*(mirror.stop() for mirror in self._running.values()))
        self._running.clear()

    def known(self, name: str) -> Mirror:
        """The mirror of that name.

        Raises:
            MirrorError: there is none.
        """
        if name not in self._running:
            names = ", ".join(self._running)
            there_are = f"there are {names}" if names else "there is none"
            raise MirrorError(f"there is no mirror {name}; {there_are}")
        return self._running[name]

    def topics_of(self, name: str) -> list[Topic]:
        """The topics that a mirror follows, by their names."""
        topics, mirrored = self._parts.topics, self._parts.mirrored
        found = [topics.by_id(topic_id) for topic_id in mirrored.of(name)]
        return sorted((each for each in found if each), key=lambda topic: topic.name)

    def promoted_count(self, name: str) -> int:
        """How many topics were promoted that were a mirror's."""
        return sum(each == name for each in self._parts.mirrored.promoted.values())

    async def add(self, settings: MirrorSettings) -> MirrorSettings:
        """Begin to copy, when the source has answered; returns what is kept of it.

        Raises:
            MirrorError: the settings are of no use, or the source does not answer.
            KafkaStorageError: the catalogue cannot be written.
        """
        async with self._changing:
            if settings.name in self._running:
                raise MirrorError(f"there is a mirror {settings.name} already")
            view = await self._look_at(settings)
            if view.cluster_id == self._parts.topics.cluster_id:
                raise MirrorError(
                    f"{settings.bootstrap} is this very cluster, {view.cluster_id}"
                )
            settings = settings._replace(cluster_id=view.cluster_id)
            await self._producer_ids.begin_range()
            await self._keep(settings.name, settings.options)
            self._start(settings)
            return settings

    async def promote(
        self, name: str, wanted: Collection[str], *, timeout_ms: int | None
    ) -> AsyncIterator[Promoted]:
        """Make copies topics like all others: these, or without any named all.

        They hold then what the source showed when this began, if it takes no longer
        than ``timeout_ms``; with None they end where they are.

        Raises:
            MirrorError: there are no such copies, or they do not catch up.
            KafkaError: the first topic that cannot be promoted; those before it are.
        """
        async with self._changing:
            mirror = self.known(name)
            topics = {topic.name: topic for topic in self.topics_of(name)}
            strange = sorted(set(wanted) - topics.keys())
            if strange:
                raise MirrorError(f"{', '.join(strange)}: no topic of mirror {name}")
            names = sorted(set(wanted) or topics)
            if timeout_ms is not None and names:
                await mirror.catch_up(names, timeout_ms)
            try:
                for each in names:
                    mirror.end(each)
                    try:
                        ends = await self._promotion.promote(topics[each])
                    finally:
                        mirror.go_on(each)
                    yield Promoted(each, ends)
            finally:
                await self._promotion.end_transactions()

    async def remove(self, name: str) -> None:
        """Copy nothing any more, and forget the mirror; its topics are promoted.

        Raises:
            MirrorError: there is none, or it has topics that are not promoted.
            KafkaStorageError: the catalogue cannot be written.
        """
        async with self._changing:
            mirror = self.known(name)
            self._check_promoted(name)
            await mirror.stop()
            del self._running[name]
            try:
                self._check_promoted(name)  # it has looked for others until now
            except MirrorError:
                self._start(mirror.settings)
                raise
            await self._parts.mirrored.forget(name)
            await self._keep(name, {})

    def _check_promoted(self, name: str) -> None:
        left = self.topics_of(name)
        if left:
            raise MirrorError(
                f"{left[0].name} is not promoted"
                + (f", nor are {len(left) - 1} others" if len(left) > 1 else "")
                + f"; odradek mirror promote {name} does that first"
            )

    def _start(self, settings: MirrorSettings) -> None:
        mirror = Mirror(settings, self._parts, self._make_source)
        self._running[settings.name] = mirror
        mirror.start()

    async def _keep(self, name: str, options: dict[str, str]) -> None:
        resource = Resource(ResourceKind.MIRROR, name)
        await self._resources.alter(resource, lambda _: options)

    async def _look_at(self, settings: MirrorSettings) -> SourceView:
        threads = DiskThreads(1, f"mirror-{settings.name}")
        source = self._make_source(settings)
        try:
            check_name(settings.name)
            assert settings.pattern
            return await threads.run(source.look)
        except (KafkaError, OSError, ValueError) as error:
            raise MirrorError(_with_advice(error, settings)) from None
        finally:
            threads.submit(source.close, lambda *_: None)
            threads.close(waits=False)


def _with_advice(error: Exception, settings: MirrorSettings) -> str:
    """Why the source does not answer; a listener with TLS or logins just hangs up."""
    reason = str(error) or repr(error)
    cause = error.__cause__ or error
    if not isinstance(cause, ConnectionError):
        return reason
    if isinstance(cause, (ConnectionRefusedError, TlsFailed)):
        return reason
    if settings.command_config:
        given = f"does {settings.command_config} have what its listener wants"
        return f"{reason}; {given} (security.protocol, sasl.mechanism)?"
    return (
        f"{reason}; if its listener wants TLS or a login, --command-config names a"
        " file of client options with them"
    )
