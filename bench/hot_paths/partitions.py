"""Partitions with real logs, and the little that they need around them."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from logs import EPOCH, TOPIC_ID, new_log, now_ms

from odradek.broker.durability.committer import DirectoryCommitter
from odradek.broker.durability.sync_strategy import SyncStrategy, file_system_sync
from odradek.broker.replica.fetch_executor import FetchExecutor
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import sole_replica
from odradek.broker.replica.waiting.delayed_fetch import WaitingFetches
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.memory.answer_memory import AnswerMemory
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_config import LogConfig

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition

try:
    from uvloop import new_event_loop
except ImportError:
    from asyncio import new_event_loop


T = TypeVar("T")


class Durability:
    """The options of the committer."""

    durability_interval_ms = 1000

    def __init__(self, durability: str) -> None:
        self.durability = durability


class Host:
    """Partitions that see their records synced (``commit``) or do not (``none``)."""

    cluster = None

    def __init__(self, root: Path, durability: str) -> None:
        self.bounds_by_durability = durability == "commit"
        self.fetches = WaitingFetches("Fetch", SystemClock())
        self.partitions: dict[TopicPartition, Partition] = {}
        self.executor = FetchExecutor(
            self.partitions.__getitem__,
            self.fetches,
            None,  # type: ignore[arg-type]
            AnswerMemory(),
        )
        self.on_durable: Callable[[], object] = _nothing
        self._root = root
        self._committer = DirectoryCommitter(
            root,
            SystemClock(),
            Durability(durability),
            SyncStrategy(file_system_sync(root)).sync,
            _raise,
        )

    def new_partition(self) -> Partition:
        log = new_log(self._root)
        tp = log.topic_partition
        partition = Partition(tp, TOPIC_ID, EPOCH, LogConfig(), sole_replica(1), self)
        partition.is_written = True
        partition.use_log(log, self._committer)
        self.partitions[tp] = partition
        return partition

    def close(self) -> None:
        self._committer.close()

    # PartitionHost

    def check_waiting(self, partition: Partition) -> None:
        self.fetches.check(partition.topic_partition)
        self.on_durable()

    def check_all_waiting(self, partition: Partition) -> None:
        self.check_waiting(partition)

    def check_log_end_fetches(self, partition: Partition) -> None:
        self.fetches.check(partition.topic_partition)

    def create_log(self, partition: Partition) -> Any:
        raise AssertionError("all partitions have one")

    def record_written(self, partition: Partition) -> None:
        raise AssertionError("all partitions are")

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        raise AssertionError("no topic has flush.ms")


def append(partition: Partition, batch: bytearray) -> None:
    """The same batch again, as if a client had sent it."""
    view = memoryview(batch)
    view[:8] = bytes(8)
    partition.append(view, -1, AppendOrigin.CLIENT, now_ms())


class Loop:
    """The event loop that a broker would use."""

    def __init__(self) -> None:
        self._loop = new_event_loop()

    def case(
        self, work: Callable[[int], Coroutine[Any, Any, None]]
    ) -> Callable[[int], None]:
        """``work`` as the ``run`` of a case."""
        return lambda count: self._loop.run_until_complete(work(count))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def close(self) -> None:
        self._loop.close()


def _raise(directory: Path, error: Exception) -> None:
    raise error


def _nothing() -> None:
    """Tell nobody."""
