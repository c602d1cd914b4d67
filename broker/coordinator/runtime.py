"""The shards of one coordinator: which there are, loaded by replay, asked by key.

The coordinator's topic has a fixed number of partitions, and each key belongs to one.
A partition that was never written is there at once; one with a log is loaded in the
background after the start, first those that are asked for.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from odradek.broker.replica.partition.view import Until
from odradek.broker.replica.waiting.delayed_produce import PendingAppend
from odradek.broker.runtime.parked import gathered
from odradek.protocol.errors import KafkaError, NotCoordinator
from odradek.protocol.topic_partition import TopicPartition

from .decision import Decision, ShardState
from .loading import LoadedShards, Loader
from .phase import Phase
from .placement import partition_for
from .shard import Shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.broker.runtime.parked import Parked, T

    from .decision import ProducerIdentity

    Refuse = Callable[[KafkaError], T]

S = TypeVar("S", bound=ShardState)

_logger = logging.getLogger(__name__)


class CoordinatorRuntime(Generic[S]):
    """All shards of one coordinator."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        topic: str,
        make_state: Callable[[Shard[S]], S],
        *,
        topics: Topics,
        replica_manager: ReplicaManager,
        disk_threads: DiskThreads,
        clock: Clock,
        bugs: Bugs,
        load_buffer_size: int,
    ) -> None:
        self.topic = topic
        self.clock = clock
        self.replica_manager = replica_manager
        self._make_state = make_state
        self._topics = topics
        self._disk_threads = disk_threads
        self._bugs = bugs
        self._load_buffer_size = load_buffer_size
        self._shards: dict[int, Shard[S]] = {}
        self._partition_count = 0  # until the topic is there
        self._wanted: list[int] = []
        self._loading: asyncio.Task[None] | None = None
        self._has_begun = False
        self._loaded = LoadedShards(topic, clock)

    # Which shards there are

    def partition_of(self, key: str) -> int:
        """The partition to which ``key`` belongs.

        Partitions that are added meanwhile take no keys away from those that have them.

        Raises:
            NotCoordinator: the topic is not made yet.
        """
        topic = self._topics.get(self.topic)
        if topic is None:
            raise NotCoordinator
        if not self._partition_count:
            self._partition_count = len(topic.partitions)
        return partition_for(key, self._partition_count)

    def shard(self, partition: int) -> Shard[S]:
        """The shard of a partition; asking for one that is not loaded hurries it.

        Raises:
            UnknownTopicOrPartition: there is no such partition.
        """
        shard = self._shards.get(partition)
        if shard is None:
            return self._begin(partition)
        if shard.phase is Phase.LOADING and partition in self._wanted:
            self._wanted.remove(partition)
            self._wanted.insert(0, partition)
        return shard

    def settled(self, key: str) -> S | None:
        """The state of the shard of ``key``, if nobody has to wait for what it tells.

        None, too, where it cannot be asked; nothing is loaded for that.
        """
        count = self._partition_count
        if not count or self._topics.get(self.topic) is None:
            return None
        shard = self._shards.get(partition_for(key, count))
        return None if shard is None else shard.settled()

    def shards(self) -> Iterator[Shard[S]]:
        """Every shard that has, or may have, state."""
        return iter(list(self._shards.values()))

    # Requests

    def act(
        self, key: str, decide: Callable[[S], Decision], refuse: Refuse[T]
    ) -> T | Parked[T]:
        """The answer to what the shard of ``key`` decides; see `Shard.act`."""
        shard, count = None, self._partition_count
        if count and self._topics.get(self.topic) is not None:
            shard = self._shards.get(partition_for(key, count))
        if shard is None or shard.phase is not Phase.ACTIVE:  # else it is as most are
            try:
                shard = self.shard(self.partition_of(key))
            except KafkaError as error:
                return refuse(error)
        return shard.act(decide, refuse)

    def end_transaction(
        self,
        topic_partition: TopicPartition,
        producer: ProducerIdentity,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> int | Parked[int]:
        """End a producer's transaction in a shard; see `Shard.end_transaction`."""
        try:
            shard = self.shard(topic_partition.partition)
        except KafkaError as error:
            return error.code
        return shard.end_transaction(
            producer, is_commit, coordinator_epoch, transaction_version
        )

    def ask_all(
        self, decide: Callable[[S], Decision], finish: Callable[[list[Any]], T]
    ) -> T | Parked[T]:
        """What ``finish`` makes of the answers, or errors, of all shards."""
        answers = [shard.act(decide, KafkaError.as_value) for shard in self.shards()]
        return gathered(answers, finish)

    def schedule(self, decide: Callable[[S], Decision]) -> bool:
        """Let every loaded shard decide something of its own accord.

        Returns whether all of them could write what they decided.
        """
        refusals: list[int] = []
        for shard in self.shards():
            if shard.phase is not Phase.ACTIVE:
                continue
            try:
                shard.act(decide, lambda error: refusals.append(error.code))
            except Exception as error:  # the others decide all the same
                self._bugs.record(f"a job of {shard.topic_partition}", error)
        return not refusals

    # Loading

    def load_all(self) -> None:
        """Begin to load everything that has a log. For after the start."""
        self._has_begun = True
        topic = self._topics.get(self.topic)
        if topic is not None:
            # The catalogue knows of a log once it was synced: that may be late.
            for info in topic.partitions:
                if info.partition not in self._shards:
                    with suppress(NotCoordinator):
                        self._begin(info.partition)

    @property
    def is_loaded(self) -> bool:
        """Whether everything that had a log at the start is known, or has failed."""
        return self._has_begun and self._loading is None

    async def loaded(self) -> None:
        """Return when nothing is being loaded."""
        while self._loading is not None:
            await asyncio.wait({self._loading})

    def _begin(self, partition: int) -> Shard[S]:
        topic_partition = TopicPartition(self.topic, partition)
        found = self.replica_manager.partition(topic_partition)
        refusal = found.leadership.refusal
        if not found.leadership.replicas.is_leader:
            raise NotCoordinator
        shard = Shard(topic_partition, self._make_state, self)
        self._shards[partition] = shard
        if found.log is None and refusal is None:  # never written
            shard.activate()
            return shard
        self._wanted.append(partition)
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(
                self._load_wanted(), name=f"load {self.topic}"
            )
        return shard

    async def _load_wanted(self) -> None:
        self._loaded = LoadedShards(self.topic, self.clock)
        try:
            while self._wanted:
                shard = self._shards.get(self._wanted.pop(0))
                if shard is not None:
                    await self._load_or_note(shard)
            self._loaded.report(_logger)
        finally:
            if self._loading is asyncio.current_task():
                self._loading = None

    async def _load_or_note(self, shard: Shard[S]) -> None:
        """Load; what nobody expects of one shard keeps no other from being loaded."""
        try:
            await self._load(shard)
        except Exception as error:
            self._bugs.record(f"load {shard.topic_partition}", error)
            shard.fail(error)

    async def _load(self, shard: Shard[S]) -> None:
        topic_partition = shard.topic_partition
        started_ms = self.clock.monotonic_ms()
        try:
            await self.replica_manager.open([topic_partition])
            partition = self.replica_manager.partition(topic_partition)
            partition.leadership.check()
            loader = Loader(
                partition,
                shard.state,
                self._disk_threads,
                self._load_buffer_size,
                lambda: shard.phase is Phase.LOADING,
            )
            await loader.load()
        except (KafkaError, OSError) as error:
            shard.fail(error)
            return
        except Exception as error:
            if shard.phase is Phase.LOADING:  # else nobody keeps its state in order
                self._bugs.record(f"load {topic_partition}", error)
                shard.fail(error)
            return
        if shard.phase is not Phase.LOADING:
            return  # another broker leads by now, or this one anew
        elapsed_ms = self.clock.monotonic_ms() - started_ms
        _logger.debug(
            "%s: %d records are loaded in %d ms",
            topic_partition,
            loader.record_count,
            elapsed_ms,
        )
        self._loaded.note(loader.record_count, shard.state.summary())
        shard.activate(_tail_of(partition))

    def elect(self, partition: int) -> None:
        """This broker leads a partition, by a decision that is new: load it anew."""
        self.resign(partition)
        # Who was told that it is closed may have asked for it again already.
        if self._has_begun and partition not in self._shards:
            with suppress(NotCoordinator):  # another one leads by now
                self._begin(partition)

    def resign(self, partition: int) -> None:
        """Another broker may lead a partition: what is known of it is forgotten."""
        shard = self._shards.pop(partition, None)
        if partition in self._wanted:
            self._wanted.remove(partition)
        if shard is not None:
            shard.close()

    def unload(self) -> None:
        """The topic is deleted: one that gets its name begins with nothing."""
        shards, self._shards = self._shards, {}
        self._partition_count = 0
        self._wanted.clear()
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
        for shard in shards.values():
            shard.close()

    async def close(self) -> None:
        """Load nothing any more, run no timers, and answer everybody who waits."""
        self._wanted.clear()
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        for shard in self.shards():
            shard.close()

    # What shards ask for (ShardHost)

    def run_soon(self, action: Callable[[], object]) -> None:
        """Call ``action`` in a later turn of the loop."""
        asyncio.get_running_loop().call_soon(self._run, action)

    def record_bug(self, where: str, error: BaseException) -> None:
        """Report an exception that nobody expected."""
        self._bugs.record(where, error)

    def _run(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            self._bugs.record(f"what follows in {self.topic}", error)


def _tail_of(partition: Partition) -> PendingAppend | None:
    """What was loaded and is not replicated yet; None: all of it is."""
    end = partition.view.log_end_offset
    if partition.view.high_watermark >= end:
        return None
    return PendingAppend(partition, end, Until.REPLICATED)
