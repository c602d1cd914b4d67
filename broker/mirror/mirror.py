"""One mirror while it runs: it looks at its source, and copies what is there.

Every few seconds it looks which topics and leaders there are, lets the topics here
follow, hands each partition to the fetcher of its leader, and copies what groups have
committed. Whatever goes wrong is tried again, and said when it is new.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

from .group_copies import GroupCopies
from .leader_fetcher import LeaderFetcher
from .mirror_error import MirrorError
from .partition_copy import PartitionCopy
from .topic_copies import TopicCopies

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.metadata.mirrored_topics import MirroredTopics
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.following import Following
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock

    from .settings import MirrorSettings
    from .source import Source, SourceTopic, SourceView

LOOK_INTERVAL_MS = 5_000
LOOK_AGAIN_MS = 500
CATCH_UP_LOOK_MS = 50

_logger = logging.getLogger(__name__)


class MirrorParts(NamedTuple):
    """What all mirrors of a broker work with."""

    topics: Topics
    mirrored: MirroredTopics
    following: Following
    groups: GroupCoordinator
    live: LiveConfig
    clock: Clock
    bugs: Bugs


class Mirror:
    """Copies the topics of one source.

    ``trouble`` is why the source cannot be asked, ``topic_copies`` knows what is wrong
    with single topics, each of ``copies`` with single partitions.
    """

    def __init__(
        self,
        settings: MirrorSettings,
        parts: MirrorParts,
        make_source: Callable[[MirrorSettings], Source],
    ) -> None:
        self.settings = settings
        self.copies: dict[TopicPartition, PartitionCopy] = {}
        self.trouble: str | None = None
        self.has_looked = False
        self.topic_copies = TopicCopies(
            settings.name, parts.topics, parts.mirrored, parts.live
        )
        self.group_copies = GroupCopies(
            settings.name, parts.groups, parts.topics, parts.clock
        )
        self._parts = parts
        self._clock = parts.clock
        self._make_source = make_source
        self._source = make_source(settings)
        self._threads = DiskThreads(1, f"mirror-{settings.name}")
        self._fetchers: dict[int, tuple[LeaderFetcher, asyncio.Task[None]]] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._promoting: set[str] = set()

    # Life

    def start(self) -> None:
        """Begin, and go on until it is stopped."""
        self._task = asyncio.get_running_loop().create_task(
            self._run(), name=f"mirror {self.settings.name}"
        )

    async def stop(self) -> None:
        """Return when nothing is copied any more."""
        for copy in self.copies.values():
            copy.is_ended = True
        tasks = [task for _, task in self._fetchers.values()]
        if self._task is not None:
            tasks.append(self._task)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fetchers.clear()
        self._task = None
        # Not waited for: it may be waiting for a broker that does not answer.
        self._threads.submit(self._source.close, lambda *_: None)
        self._threads.close(waits=False)

    def look_soon(self) -> None:
        """Look at the source again, before its time."""
        self._wake.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._look()
            except (KafkaError, OSError, ValueError, MirrorError) as error:
                self._note(str(error) or repr(error))
                await self._ask_in_thread(self._source.close)
            except Exception as error:
                self._parts.bugs.record(f"mirror {self.settings.name}", error)
                self._note(repr(error))
            await self._rest()

    async def _rest(self) -> None:
        """Until it is time to look again, or somebody wants that."""
        await self._clock.sleep(LOOK_AGAIN_MS)
        timer = self._clock.call_later(LOOK_INTERVAL_MS - LOOK_AGAIN_MS, self._wake.set)
        await self._wake.wait()
        self._wake.clear()
        timer.cancel()

    def _note(self, trouble: str | None) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            name, source = self.settings.name, self.settings.bootstrap
            if trouble is None:
                _logger.info("mirror %s: %s can be asked again", name, source)
            else:
                _logger.warning("mirror %s: %s: %s", name, source, trouble)

    async def _ask_in_thread(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        return await self._threads.run(ask, *arguments)

    # A look at the source

    async def _look(self) -> None:
        view: SourceView = await self._ask_in_thread(self._source.look)
        self._check_cluster(view)
        topics = await self.topic_copies.follow(view)
        await self._assign(topics)
        self.has_looked = True
        await self.copy_groups()
        self._note(None)

    def _check_cluster(self, view: SourceView) -> None:
        known = self.settings.cluster_id
        if view.cluster_id != known:
            for copy in self.copies.values():
                copy.is_ended = True  # what it has asked for as well
            self.copies.clear()
            raise MirrorError(
                f"it is the cluster {view.cluster_id} now, and was {known}: nothing is "
                "copied of another one"
            )

    async def _assign(self, topics: Iterable[SourceTopic]) -> None:
        """Give each partition to the fetcher of its leader, and to no other."""
        led: dict[int, dict[TopicPartition, PartitionCopy]] = {}
        for topic in topics:
            if topic.name in self._promoting:
                continue
            for number, leader in topic.leaders.items():
                place = TopicPartition(topic.name, number)
                copy = await self._copy(place, topic.topic_id)
                if copy is not None and leader >= 0:
                    led.setdefault(leader, {})[place] = copy
        wanted = {place for copies in led.values() for place in copies}
        for place, copy in list(self.copies.items()):
            if place not in wanted and place.topic not in self._promoting:
                copy.note("the source has no leader for it")
        for node_id in self._fetchers.keys() - led.keys():
            fetcher, task = self._fetchers.pop(node_id)
            fetcher.copies = {}
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for fetcher, _ in self._fetchers.values():
            fetcher.copies = {}
        for node_id, copies in led.items():
            self._fetcher(node_id).copies = {
                place: copy for place, copy in copies.items() if not copy.is_ended
            }

    async def _copy(
        self, place: TopicPartition, topic_id: bytes
    ) -> PartitionCopy | None:
        known = self.copies.get(place)
        if known is not None and known.partition.topic_id == topic_id:
            return known
        try:
            partition = await self._parts.following.copy(place)
        except KafkaError as error:
            trouble = f"partition {place.partition}: {error}"
            self.topic_copies.troubles[place.topic] = trouble
            return None
        copy = self.copies[place] = PartitionCopy(
            partition,
            self._parts.following,
            self._parts.topics,
            self._clock,
            self._find_ends,
        )
        return copy

    def _fetcher(self, node_id: int) -> LeaderFetcher:
        if node_id not in self._fetchers:
            source = self._make_source(self.settings)
            fetcher = LeaderFetcher(node_id, source, self._clock, self.look_soon)
            task = asyncio.get_running_loop().create_task(
                self._watched(fetcher), name=f"mirror {self.settings.name}-{node_id}"
            )
            self._fetchers[node_id] = fetcher, task
        return self._fetchers[node_id][0]

    async def _watched(self, fetcher: LeaderFetcher) -> None:
        try:
            await fetcher.run()
        except Exception as error:
            self._parts.bugs.record(f"mirror {self.settings.name}", error)
            self._fetchers.pop(fetcher.node_id, None)

    async def _find_ends(self, place: TopicPartition) -> tuple[int, int]:
        found = await self._ask_in_thread(self._source.ends, [place])
        ends: tuple[int, int] = found[place]
        return ends

    # Groups

    async def copy_groups(self) -> None:
        """Commit here what the source's groups have committed.

        Raises:
            KafkaError, OSError, ValueError: the source cannot be asked.
        """
        found = await self._ask_in_thread(self._source.group_offsets)
        await self.group_copies.take(found, self._readable_end)

    def _readable_end(self, place: TopicPartition) -> int | None:
        copy = self.copies.get(place)
        return None if copy is None else copy.durable_end

    # The end of copying

    @property
    def fetcher_troubles(self) -> dict[int, str]:
        """Why brokers of the source cannot be asked for records."""
        return {
            node_id: fetcher.trouble
            for node_id, (fetcher, _) in self._fetchers.items()
            if fetcher.trouble is not None
        }

    async def catch_up(self, names: Collection[str], timeout_ms: int) -> None:
        """Return when these topics hold what the source shows now, and durably.

        Then the offsets of groups are copied once more.

        Raises:
            MirrorError: that takes longer, or cannot be.
        """
        end_ms = self._clock.monotonic_ms() + timeout_ms
        while not self.has_looked and self._clock.monotonic_ms() < end_ms:
            await self._clock.sleep(CATCH_UP_LOOK_MS)
        places = self._places(names)
        try:
            ends = await self._ask_in_thread(self._source.ends, places)
        except (KafkaError, OSError, ValueError) as error:
            raise MirrorError(f"the source cannot be asked: {error}") from None
        behind = partial(_behind, self.copies, ends)
        while late := behind():
            stopped = [each for each in late if self.copies[each].stop_reason]
            if stopped or self._clock.monotonic_ms() > end_ms:
                place = (stopped or late)[0]
                why = self.copies[place].stop_reason or self.copies[place].trouble
                raise MirrorError(
                    f"{place} is at offset {self.copies[place].durable_end} of "
                    f"{ends[place][1]}" + (f": {why}" if why else "")
                )
            await self._clock.sleep(CATCH_UP_LOOK_MS)
        try:
            await self.copy_groups()
        except (KafkaError, OSError, ValueError) as error:
            raise MirrorError(f"offsets of groups are not copied: {error}") from None

    def _places(self, names: Collection[str]) -> list[TopicPartition]:
        """The partitions of these topics, of which all are copied."""
        places = []
        for name in names:
            trouble = self.topic_copies.troubles.get(name)
            count = len(self._parts.topics.known(name).partitions)
            of_topic = [TopicPartition(name, number) for number in range(count)]
            if trouble is None and any(each not in self.copies for each in of_topic):
                trouble = self.trouble or "it is not copied yet"
            if trouble is not None:
                raise MirrorError(f"topic {name}: {trouble}")
            places += of_topic
        return places

    def end(self, name: str) -> None:
        """Copy nothing of this topic any more."""
        self._promoting.add(name)
        for place in [each for each in self.copies if each.topic == name]:
            self.copies.pop(place).is_ended = True
        for fetcher, _ in self._fetchers.values():
            fetcher.copies = {
                place: copy
                for place, copy in fetcher.copies.items()
                if place.topic != name
            }

    def go_on(self, name: str) -> None:
        """Look again at a topic of which nothing was copied any more."""
        self._promoting.discard(name)
        self.look_soon()


def _behind(
    copies: dict[TopicPartition, PartitionCopy],
    ends: dict[TopicPartition, tuple[int, int]],
) -> list[TopicPartition]:
    """Those that cannot be read here up to where the source showed them."""
    return [
        place
        for place, (_, end) in ends.items()
        if place in copies and copies[place].durable_end < end
    ]
