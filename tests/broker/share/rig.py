"""Share groups on a disk in memory; what is written of them is durable when told so."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from odradek.broker.coordinator.share.merge import finished_count, merge
from odradek.broker.coordinator.share.state import (
    NO_START,
    ShareKey,
    StateUpdate,
    StoredState,
)
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.runtime.parked import Parked
from odradek.broker.share.acknowledge import Acknowledged
from odradek.broker.share.sessions import MemberKey, ShareSession
from odradek.broker.share.share_fetch import FetchTerms, ShareRead
from odradek.protocol.errors import InvalidRequest, KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.replicas import Replicas, batch_of, replicas

ACCEPT, RELEASE, REJECT, RENEW = [1], [2], [3], [4]


class FakeStates:
    """What was written of share partitions; with ``holds`` it is durable later."""

    def __init__(self) -> None:
        self.states: dict[ShareKey, StoredState] = {}
        self.watchers: list[Callable[[ShareKey], object]] = []
        self.written: list[StateUpdate] = []
        self.read_count = 0
        self.error: KafkaError | None = None
        self.holds = False
        self._held: list[tuple[ShareKey, StateUpdate, Parked[Any]]] = []

    def begin(self, key: ShareKey, start: int = NO_START) -> None:
        self.states[key] = StoredState(1, 0, start, 0, ())
        for watcher in self.watchers:
            watcher(key)

    def read(self, key: ShareKey, leader_epoch: int) -> Any:
        self.read_count += 1
        if self.error is not None:
            return self.error
        return self.states.get(key) or InvalidRequest("not begun")

    def write(self, key: ShareKey, update: StateUpdate) -> Any:
        if self.error is not None:
            return self.error
        self.written.append(update)
        self._apply(key, update)
        if not self.holds:
            return None
        parked: Parked[Any] = Parked()
        self._held.append((key, update, parked))
        return parked

    def let_go(self, error: KafkaError | None = None) -> None:
        """All that was written is durable by now; or never will be."""
        held, self._held = self._held, []
        for _, _, parked in held:
            parked.set_result(error)

    def _apply(self, key: ShareKey, update: StateUpdate) -> None:
        known = self.states[key]
        batches = tuple(merge(known.batches, update.batches, update.start))
        assert update.complete_count == finished_count(batches)
        self.states[key] = known._replace(
            start=update.start,
            complete_count=update.complete_count,
            batches=batches,
        )


class ShareRig:
    """One broker, one topic ``t``, group ``g``."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.clock = broker.clock
        self.states = FakeStates()
        services = broker.services
        services.share_states = cast("Any", self.states)
        self.sharing = services.sharing

    async def create_topic(self, partitions: int = 1, **options: str) -> None:
        await self.broker.create_topic("t", partitions, **options)

    def key(self, partition: int = 0, group_id: str = "g") -> ShareKey:
        topic = self.broker.topics.get("t")
        assert topic is not None
        return ShareKey(group_id, topic.topic_id, partition)

    async def set_options(self, **options: str) -> None:
        """Of the group; with ``_`` for the dots."""
        dotted = {
            f"share.{name.replace('_', '.')}": text for name, text in options.items()
        }
        resource = Resource(ResourceKind.GROUP, "g")
        await self.broker.services.resources.alter(resource, lambda _: dotted)

    def append(self, *values: bytes, partition: int = 0, **options: Any) -> None:
        self.broker.manager.append_records(
            {TopicPartition("t", partition): batch_of(*values, **options)},
            acks=1,
            timeout_ms=1000,
        )

    async def fill(self, batches: int = 1, size: int = 10, partition: int = 0) -> None:
        """So many batches of so many records, which readers see."""
        for _ in range(batches):
            self.append(*[b"v"] * size, partition=partition)
        await self.broker.commit()
        await settle()

    def open(self, member_id: str = "m", *partitions: int) -> ShareSession:
        keys = [self.key(each) for each in partitions or (0,)]
        session = ShareSession(MemberKey("g", member_id), keys, self)
        self.sharing.sessions.open(session)
        return session

    def ask(self, session: ShareSession, **terms: Any) -> Parked[Any]:
        """A fetch that waits."""
        terms.setdefault("isolation", FetchIsolation.HIGH_WATERMARK)
        terms.setdefault("max_wait_ms", 500)
        terms.setdefault("min_bytes", 1)
        terms.setdefault("max_bytes", 1 << 20)
        terms.setdefault("records_max", 500)
        terms.setdefault("batch_size", 500)
        fetch_terms = FetchTerms(member_id=session.key.member_id, **terms)
        return self.sharing.fetch(session, list(session.partitions), fetch_terms)

    async def fetch(
        self, session: ShareSession, **terms: Any
    ) -> dict[ShareKey, ShareRead]:
        """A fetch that is over when its time is."""
        asked = self.ask(session, **terms)
        await settle()
        if not asked.done():
            self.clock.advance(terms.get("max_wait_ms", 500) + 100)
        reads: dict[ShareKey, ShareRead] = asked.result()
        return reads

    async def acquired(self, session: ShareSession, **terms: Any) -> list[Any]:
        """What the member is given, of its one partition."""
        reads = await self.fetch(session, **terms)
        return [each for read in reads.values() for each in read.acquired]

    def say(
        self,
        session: ShareSession,
        first: int,
        last: int,
        types: Sequence[int],
        partition: int = 0,
    ) -> Any:
        key, said = self.key(partition), [Acknowledged(first, last, types)]
        return self.sharing.acknowledge(key, session.key.member_id, said)


async def settle() -> None:
    """Let what is to be done soon be done: there are no threads in it."""
    for _ in range(20):
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def share_rig(directory: Path, **options: Any) -> AsyncIterator[ShareRig]:
    async with replicas(directory, **options) as broker:
        rig = ShareRig(broker)
        try:
            yield rig
        finally:
            await rig.sharing.close()
        assert broker.bugs == []
