"""A partition is compacted because somebody asks for it.

Rounds clean sealed segments only. Who asks for compaction means what is in the log
now: so the active segment is sealed first, unless its records could not be cleaned
anyway, because they are too young or a transaction is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.storage.files.files import DiskFull, StorageFailure

from .cleaning import NotCleaned, Obstacle

if TYPE_CHECKING:
    from odradek.broker.durability.committer import Committer
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.cleaner.plan import RoundEnd
    from odradek.storage.log.unified_log import UnifiedLog

    from .cleaning import Cleaning

CLEANED = "cleaned"
NOTHING_TO_CLEAN = "nothing-to-clean"
NOT_COMPACTED = "not-compacted"
TOO_YOUNG = "too-young"
OPEN_TRANSACTION = "open-transaction"


class Compacted(NamedTuple):
    """What came of it: ``outcome`` is a word of this module or an `Obstacle`.

    Records and bytes are those of the segments that were cleaned, before and after;
    ``reason`` says why there are none.
    """

    outcome: str
    reason: str | None = None
    elapsed_ms: int = 0
    next_dirty_offset: int = -1
    records_before: int = 0
    records_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0

    def followed_by(self, ended: RoundEnd) -> Compacted:
        """The sum with a round behind it, which read again what was clean."""
        stats = ended.stats
        if self.outcome != CLEANED:
            return Compacted(
                CLEANED,
                None,
                0,
                ended.next_dirty_offset,
                stats.records_read,
                stats.records_written,
                stats.bytes_read,
                stats.bytes_written,
            )
        return self._replace(
            next_dirty_offset=ended.next_dirty_offset,
            records_before=self.records_before
            - self.records_after
            + stats.records_read,
            records_after=stats.records_written,
            bytes_before=self.bytes_before - self.bytes_after + stats.bytes_read,
            bytes_after=stats.bytes_written,
        )


class Compaction:
    """Compacts partitions now, by rounds of `Cleaning`."""

    def __init__(
        self,
        replica_manager: ReplicaManager,
        committer: Committer,
        clock: Clock,
        cleaning: Cleaning,
    ) -> None:
        self._replica_manager = replica_manager
        self._committer = committer
        self._clock = clock
        self._cleaning = cleaning

    async def compact(self, topic_partition: TopicPartition) -> Compacted:
        """Clean all that may be cleaned, however little there is to gain."""
        started_ms = self._clock.monotonic_ms()
        manager = self._replica_manager
        await manager.open([topic_partition])
        try:
            partition = manager.partition(topic_partition)
        except KafkaError as error:
            return Compacted(Obstacle.GIVEN_UP, str(error))
        log = partition.log
        if partition.leadership.refusal is not None:
            return Compacted(Obstacle.OFFLINE, str(partition.leadership.refusal))
        if not partition.config.is_compacted:
            policies = ",".join(sorted(partition.config.cleanup_policy))
            return Compacted(NOT_COMPACTED, f"its cleanup.policy is {policies}")
        if log is None:
            return Compacted(NOTHING_TO_CLEAN, "it holds no records")
        done = await self._compact(partition, log)
        elapsed_ms = self._clock.monotonic_ms() - started_ms
        return done._replace(elapsed_ms=elapsed_ms)

    async def _compact(self, partition: Partition, log: UnifiedLog) -> Compacted:
        done = Compacted(NOTHING_TO_CLEAN)
        try:
            left = await self._seal(partition, log)
            # Not more than is there now: a producer may be faster than we are.
            goal = self._cleaning.cleanable(log).end_offset
            while (ended := await self._cleaning.run_round(log)) is not None:
                has_moved = ended.next_dirty_offset > done.next_dirty_offset
                done = done.followed_by(ended)
                if ended.next_dirty_offset >= goal or not has_moved:
                    break
        except NotCleaned as error:
            return done._replace(outcome=error.obstacle, reason=str(error))
        if done.outcome == CLEANED:
            return done._replace(reason=_what_is_left(log, left))
        first_dirty = self._cleaning.cleanable(log).first_dirty_offset
        return self._why_nothing(log)._replace(next_dirty_offset=first_dirty)

    async def _seal(self, partition: Partition, log: UnifiedLog) -> Compacted | None:
        """Begin a new segment, and make durable what is before it.

        What is not durable is not cleaned. Returns why the active segment stays.
        """
        self._cleaning.check(log)
        await self._committer.flush()  # a transaction that ended has ended then
        self._cleaning.check(log)
        if not log.local.active.size:
            return None
        obstacle = self._obstacle(log)
        if obstacle is not None:
            return obstacle
        try:
            log.roll(self._clock.now_ms())
        except DiskFull as error:
            raise NotCleaned(Obstacle.NO_ROOM, str(error)) from error
        except StorageFailure as error:
            self._committer.for_directory(log.directory.parent).fail(error)
            raise NotCleaned(Obstacle.OFFLINE, str(error)) from error
        except KafkaError as error:
            raise NotCleaned(Obstacle.GIVEN_UP, str(error)) from error
        assert partition.committer is not None
        partition.committer.request_sync(partition)
        await self._committer.flush()
        return None

    def _obstacle(self, log: UnifiedLog) -> Compacted | None:
        """Why the records of the active segment cannot be cleaned yet."""
        first_unstable = log.visibility.first_unstable_offset
        if first_unstable >= 0:
            reason = f"a transaction is open from offset {first_unstable} on"
            return Compacted(OPEN_TRANSACTION, reason)
        lag_ms = log.config.min_compaction_lag_ms
        youngest = log.local.active.largest_timestamp()
        if lag_ms > 0 and youngest > self._clock.now_ms() - lag_ms:
            reason = f"its records are younger than min.compaction.lag.ms ({lag_ms})"
            return Compacted(TOO_YOUNG, reason)
        return None

    def _why_nothing(self, log: UnifiedLog) -> Compacted:
        obstacle = self._obstacle(log) if log.local.active.size else None
        if obstacle is not None:
            return obstacle
        is_held = (
            self._cleaning.cleanable(log).end_offset < log.local.active.base_offset
        )
        if is_held:
            return Compacted(NOTHING_TO_CLEAN, "its newest records are not durable yet")
        return Compacted(NOTHING_TO_CLEAN, "it was cleaned before")


def _what_is_left(log: UnifiedLog, obstacle: Compacted | None) -> str | None:
    """Why not everything was cleaned; None when it was."""
    reasons = [obstacle.reason] if obstacle is not None and obstacle.reason else []
    count = sum(bool(each.reader.quarantined) for each in log.local.segments)
    if count:
        segments = "1 segment" if count == 1 else f"{count} segments"
        reasons.append(f"{segments} with damage left unchanged")
    return f"not all: {'; '.join(reasons)}" if reasons else None
