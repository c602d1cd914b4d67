"""The share coordinator as others know it: one method for each question.

A method returns the answer, or a `Parked` one: what has changed is durable when the
answer is there. What is refused is answered with the `KafkaError`, as a value. The
shard that keeps a share partition is loaded when it is first asked, and refuses
meanwhile with COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.broker.coordinator.runtime import CoordinatorRuntime
from odradek.broker.metadata.auto_create import make_topic
from odradek.broker.metadata.topic_names import SHARE_GROUP_STATE
from odradek.broker.runtime.parked import Parked, gathered
from odradek.protocol.errors import CoordinatorNotAvailable, InvalidRequest, KafkaError
from odradek.protocol.topic_partition import TopicPartition

from .decisions import (
    decide_delete,
    decide_forget_topic,
    decide_initialise,
    decide_read,
    decide_summary,
    decide_write,
)
from .shard import ShareStateShard
from .state import ShareKey, StateSummary, StateUpdate, StoredState, key_text
from .upkeep import cut_below, decide_cold_snapshots, decide_first_needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.decision import Decision
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads

    Keys = tuple[ShareKey, ...]

Results = dict[ShareKey, KafkaError | None]
"""None of what was done, or why it was not."""
Summaries = dict[ShareKey, StateSummary | KafkaError]

T = TypeVar("T")


class ShareCoordinator:
    """What share groups have done with partitions, on this broker."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        topics: Topics,
        replica_manager: ReplicaManager,
        disk_threads: DiskThreads,
        bugs: Bugs,
    ) -> None:
        self._config = config
        self._clock = clock
        self._topics = topics
        self._replica_manager = replica_manager
        # Told at once of each share partition that begins anew, or is forgotten: who
        # has it in memory has something that counts no more.
        self.watchers: list[Callable[[ShareKey], object]] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self.runtime: CoordinatorRuntime[ShareStateShard] = CoordinatorRuntime(
            SHARE_GROUP_STATE,
            self._make_shard,
            topics=topics,
            replica_manager=replica_manager,
            disk_threads=disk_threads,
            clock=clock,
            bugs=bugs,
            load_buffer_size=config.share_coordinator_load_buffer_size,
        )

    def _make_shard(self, _: Shard[ShareStateShard]) -> ShareStateShard:
        return ShareStateShard(self._config, self._clock, self._topics, self.watchers)

    def load_all(self) -> None:
        """Begin to load what earlier brokers have left. For after the start."""
        self.runtime.load_all()

    async def close(self) -> None:
        """Decide nothing any more."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.runtime.close()

    # Where it is kept

    @property
    def is_loaded(self) -> bool:
        """Whether everything is known, or nothing was ever kept."""
        return not self.has_topic or self.runtime.is_loaded

    @property
    def has_topic(self) -> bool:
        """Whether ``__share_group_state`` is there."""
        return self._topics.get(SHARE_GROUP_STATE) is not None

    def partition_of(self, key: ShareKey) -> TopicPartition:
        """The partition of ``__share_group_state`` with the records of this one.

        Raises:
            NotCoordinator: the topic is not made yet.
        """
        partition = self.runtime.partition_of(key_text(key))
        return TopicPartition(SHARE_GROUP_STATE, partition)

    async def create_topic(self) -> None:
        """Make ``__share_group_state``, unless somebody else is faster.

        Raises:
            KafkaError: it cannot be made.
        """
        await make_topic(self._topics, SHARE_GROUP_STATE, self._config)

    # One share partition

    def read(
        self, key: ShareKey, leader_epoch: int
    ) -> StoredState | KafkaError | Parked[StoredState | KafkaError]:
        """All that is known, for the leader of that epoch; -1: for who only looks.

        INVALID_REQUEST where it was not initialised; FENCED_LEADER_EPOCH if a newer
        leader has read it.
        """
        if not self.has_topic:
            return _nothing_known()
        return self.runtime.act(
            key_text(key),
            lambda shard: decide_read(shard, key, leader_epoch),
            KafkaError.as_value,
        )

    def write(
        self, key: ShareKey, update: StateUpdate
    ) -> KafkaError | Parked[KafkaError | None] | None:
        """Keep what has changed. None once it is durable, or why it never will be.

        INVALID_REQUEST where it was not initialised; FENCED_LEADER_EPOCH,
        FENCED_STATE_EPOCH if it was read, or initialised, by somebody newer;
        UNKNOWN_TOPIC_OR_PARTITION; COORDINATOR_NOT_AVAILABLE without room on the disk.
        """
        if not self.has_topic:
            return _nothing_known()
        return self.runtime.act(
            key_text(key),
            lambda shard: decide_write(shard, key, update),
            KafkaError.as_value,
        )

    # Several share partitions

    def initialise(
        self,
        starts: Mapping[ShareKey, int],
        state_epoch: int,
        finish: Callable[[Results], T],
    ) -> T | Parked[T]:
        """What ``finish`` makes of what became of each: they begin at these offsets.

        -1: where the first fetch says. What was known counts no more. The topic is made
        where it is not there. FENCED_STATE_EPOCH: by an older epoch than before.
        """
        if self.has_topic:
            return self._initialise(starts, state_epoch, finish)
        task = asyncio.get_running_loop().create_task(
            self._make_and_initialise(starts, state_epoch, finish),
            name="initialise share partitions",
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Parked.behind(task)

    async def _make_and_initialise(
        self,
        starts: Mapping[ShareKey, int],
        state_epoch: int,
        finish: Callable[[Results], T],
    ) -> T | Parked[T]:
        try:
            await self.create_topic()
        except KafkaError:
            return finish(dict.fromkeys(starts, CoordinatorNotAvailable()))
        return self._initialise(starts, state_epoch, finish)

    def _initialise(
        self,
        starts: Mapping[ShareKey, int],
        state_epoch: int,
        finish: Callable[[Results], T],
    ) -> T | Parked[T]:
        def decide(keys: Keys, shard: ShareStateShard) -> Decision:
            return decide_initialise(
                shard, {key: starts[key] for key in keys}, state_epoch
            )

        return self._act_on(starts, decide, finish)

    def summarise(
        self, keys: Iterable[ShareKey], finish: Callable[[Summaries], T]
    ) -> T | Parked[T]:
        """What ``finish`` makes of where they are. Who has not begun: start -1."""
        if not self.has_topic:
            return finish({key: StateSummary() for key in keys})
        return self._act_on(
            keys, lambda some, shard: decide_summary(shard, some), finish
        )

    def delete(
        self, keys: Iterable[ShareKey], finish: Callable[[Results], T]
    ) -> T | Parked[T]:
        """What ``finish`` makes of it when they are forgotten, for good."""
        if not self.has_topic:
            return finish(dict.fromkeys(keys))
        return self._act_on(
            keys, lambda some, shard: decide_delete(shard, some), finish
        )

    def _act_on(
        self,
        keys: Iterable[ShareKey],
        decide: Callable[[Keys, ShareStateShard], Decision],
        finish: Callable[[Any], T],
    ) -> T | Parked[T]:
        """Ask each shard once about all of its keys."""
        by_shard: dict[int, list[ShareKey]] = {}
        for key in keys:
            partition = self.runtime.partition_of(key_text(key))
            by_shard.setdefault(partition, []).append(key)
        answers: list[Any] = []
        for partition, some in by_shard.items():
            of_shard = tuple(some)
            try:
                shard = self.runtime.shard(partition)
            except KafkaError as error:
                answers.append(_refused(of_shard, error))
                continue
            answers.append(
                shard.act(partial(decide, of_shard), partial(_refused, of_shard))
            )

        def collect(found: list[dict[ShareKey, Any]]) -> T:
            return finish({key: each[key] for each in found for key in each})

        return gathered(answers, collect)

    # From time to time

    def upkeep(self) -> None:
        """Write snapshots of what is old, and cut what nobody needs. A periodic job."""
        if not self.has_topic:
            return
        self.runtime.schedule(decide_cold_snapshots)
        for shard in self.runtime.shards():
            found = shard.act(decide_first_needed, KafkaError.as_value)
            if isinstance(found, Parked):
                found.listen(partial(self._cut_soon, shard))
            else:
                self._cut(shard, found)

    def _cut_soon(self, shard: Shard[ShareStateShard], found: Parked[Any]) -> None:
        """It is told inside of another change."""
        if found.error is None:
            self.runtime.run_soon(partial(self._cut, shard, found.result()))

    def _cut(self, shard: Shard[ShareStateShard], found: int | KafkaError) -> None:
        if isinstance(found, KafkaError):  # it is loaded, or has failed
            return
        with suppress(KafkaError):  # the topic is being deleted
            partition = self._replica_manager.partition(shard.topic_partition)
            cut_below(partition, found)

    def forget_topic(self, name: str, topic_id: bytes) -> bool:
        """Forget what groups did with a deleted topic. Whether there was room for it.

        If it is the coordinator's own, so is all it knew.
        """
        if name == SHARE_GROUP_STATE:
            self.runtime.unload()
            return True
        return not self.has_topic or self.runtime.schedule(
            lambda shard: decide_forget_topic(shard, topic_id)
        )


def _nothing_known() -> KafkaError:
    """The error of a share partition while there is no topic of states."""
    return InvalidRequest("the share group has not begun with this partition")


def _refused(keys: Keys, error: KafkaError) -> dict[ShareKey, Any]:
    return dict.fromkeys(keys, error.as_value())
