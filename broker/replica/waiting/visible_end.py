"""Where partitions end, told when readers can see all that they hold.

With durability=commit a record that acks=1 has acknowledged is not visible before the
sync that makes it durable, a moment later. Who asks for the end in between is not told
one as if nothing had been written: the answer waits for that sync, and is true then.
Only our own disk is waited for. Whether other replicas follow is nothing that we could
know; there the high watermark is the answer, as in Apache Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.durability.committer import COMMIT
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError

from .delayed_answer import DelayedAnswer
from .patience import DISK_TIMEOUT_MS
from .purgatory import Purgatory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition

    Hidden = dict[TopicPartition, "HiddenEnd"]


class HiddenEnd(NamedTuple):
    """A partition of which readers do not see everything below ``offset`` yet."""

    partition: Partition
    offset: int


class Seen(NamedTuple):
    """What became of one: readers see it, or an error says why not."""

    error_code: int


class VisibleEnds:
    """Finds what is hidden in ``partitions``, and waits for it."""

    def __init__(
        self,
        partitions: Mapping[TopicPartition, Partition],
        clock: Clock,
        config: BrokerConfig,
    ) -> None:
        self.waiting: Purgatory[TopicPartition] = Purgatory("VisibleEnd", clock)
        self._partitions = partitions
        self._bounds_by_durability = config.durability == COMMIT

    def hidden(self, keys: Iterable[TopicPartition]) -> Hidden:
        """Those among ``keys`` that hold what readers will see when it is durable."""
        if not self._bounds_by_durability:
            return {}
        found: Hidden = {}
        for key in keys:
            try:
                partition = self._partitions[key]
            except KafkaError:
                continue  # who looks at it will say why
            end = hidden_end(partition)
            if end is not None:
                found[key] = HiddenEnd(partition, end)
        return found

    def wait(self, hidden: Hidden) -> Parked:
        """Brings a `Seen` of each of ``hidden``, which must not be empty.

        REQUEST_TIMED_OUT: the disk is slow, and nobody knows yet.
        """
        parked = Parked()
        results = dict.fromkeys(hidden, Seen(ErrorCode.NONE))
        delayed = _DelayedEnds(results, dict(hidden), parked, lambda seen: seen)
        self.waiting.watch(delayed, hidden, DISK_TIMEOUT_MS)
        return parked


def hidden_end(partition: Partition) -> int | None:
    """Where readers will see ``partition`` end; None when they see all of it.

    None, too, where nothing is to be expected: a log that has failed stays as it is.
    """
    log = partition.log
    if log is None or log.high_watermark == log.log_end_offset:
        return None  # as nearly always
    is_ours_alone = (
        partition.leadership.replicas.is_leader and partition.replication is None
    )
    if not is_ours_alone or partition.view.is_high_watermark_lagging:
        return None
    return None if log.is_failed else log.log_end_offset


class _DelayedEnds(DelayedAnswer[Seen, HiddenEnd]):
    """Answers ``parked`` once readers see everything, or when the time is over."""

    __slots__ = ()

    def _look_at(self, key: TopicPartition) -> None:
        partition, offset = self._pending[key]
        log = partition.log
        if partition.leadership.refusal is not None:
            self._results[key] = Seen(partition.leadership.refusal.code)
        elif partition.view.high_watermark < offset:
            if log is not None and not log.is_failed:
                return
            self._results[key] = Seen(ErrorCode.KAFKA_STORAGE_ERROR)
        del self._pending[key]
