"""The checkpoints of a log directory: what they say of its logs, open or not.

Three files: recovery points, log starts (of logs that once began inside a segment)
and high watermarks. What is to be written is taken on the loop, and written in a disk
thread.

Invariant: what was taken later is never replaced by what was taken before, however
the threads come along. A log start that was promised to a client stays.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.checkpoints import (
    HIGH_WATERMARKS_NAME,
    LOG_STARTS_NAME,
    RECOVERY_POINTS_NAME,
    Checkpointed,
    read_offsets,
    write_offsets,
)
from odradek.storage.files.files import MISSING, DiskFull, Files, StorageFailure
from odradek.storage.formats.checkpoint import CheckpointError

from .disk_reserve import DiskReserve

if TYPE_CHECKING:
    from odradek.storage.log.unified_log import UnifiedLog

MakeLock: TypeAlias = Callable[[], AbstractContextManager[object]]

_log = logging.getLogger(__name__)


class DirectoryFailure(StorageFailure):
    """The disk under a log directory failed: it takes no more writes."""

    def __init__(self, directory: Path, error: Exception) -> None:
        super().__init__(str(error))
        self.directory = directory


class TakenOffsets(NamedTuple):
    """What some checkpoints are to say: how many were taken before it, and how many
    partitions had gone.
    """

    number: int
    gone_count: int
    offsets: Mapping[str, Mapping[TopicPartition, int]]


class DirectoryCheckpoints:
    """The checkpoints of one log directory.

    ``make_lock`` makes what keeps two disk threads from writing at the same time.
    """

    def __init__(
        self, files: Files, directory: Path, make_lock: MakeLock = nullcontext
    ) -> None:
        self._files = files
        self._directory = directory
        self._lock = make_lock()
        self._recovery_points: dict[TopicPartition, int] = {}
        self._log_starts: dict[TopicPartition, int] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._taken_count = self._finished_count = 0
        self._gone_count = 0
        self._written: dict[str, TakenOffsets] = {}
        self._reserve = DiskReserve(files, directory)

    def load(self, partitions: Collection[TopicPartition]) -> None:
        """Read them, as far as they speak of partitions that are there.

        One that cannot be read is reported and passed over. Without recovery points
        every log that was not closed in order is read from its beginning; without
        log starts, what DeleteRecords gave up can be read again. From here on there is
        room for writing them.
        """
        self._recovery_points = self._read(RECOVERY_POINTS_NAME, partitions)
        self._log_starts = self._read(LOG_STARTS_NAME, partitions)
        self._high_watermarks = self._read(HIGH_WATERMARKS_NAME, partitions)
        self._reserve.keep()

    def checkpointed(
        self, topic_partition: TopicPartition, *, was_clean: bool
    ) -> Checkpointed:
        """What is known of a log that is still to be loaded."""
        return Checkpointed(
            was_clean,
            self._recovery_points.get(topic_partition, 0),
            self._log_starts.get(topic_partition, 0),
        )

    def high_watermark(self, topic_partition: TopicPartition) -> int:
        """The high watermark that a follower's log begins with, not clamped to it.

        A log that is the only replica does not need it: its own end is durable.
        """
        return self._high_watermarks.get(topic_partition, 0)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Say no more of a partition: it is gone."""
        self._gone_count += 1
        self._recovery_points.pop(topic_partition, None)
        self._log_starts.pop(topic_partition, None)
        self._high_watermarks.pop(topic_partition, None)

    def take(self, logs: "Iterable[UnifiedLog]") -> TakenOffsets:
        """What the open logs say now, and what is still known of the others."""
        recovery_points, high_watermarks = self._recovery_points, self._high_watermarks
        for log in logs:
            topic_partition = log.topic_partition
            if log.log_start_offset or topic_partition in self._log_starts:
                self._note_log_start(log)
            recovery_points[topic_partition] = log.recovery_point
            high_watermarks[topic_partition] = log.high_watermark
        return self._numbered(
            {
                RECOVERY_POINTS_NAME: dict(self._recovery_points),
                LOG_STARTS_NAME: dict(self._log_starts),
                # A log that is not open was replicated up to where it is durable.
                HIGH_WATERMARKS_NAME: {
                    **self._recovery_points,
                    **self._high_watermarks,
                },
            }
        )

    def take_log_starts(self, logs: "Iterable[UnifiedLog]") -> TakenOffsets:
        """The log starts alone."""
        for log in logs:
            self._note_log_start(log)
        return self._numbered({LOG_STARTS_NAME: dict(self._log_starts)})

    def write(self, taken: TakenOffsets) -> None:
        """Write them, durably; what they say already is not written again. For a disk
        thread. Makes durable, too, that partitions have gone.

        Raises:
            DirectoryFailure: the disk failed.
            KafkaStorageError: they could not be written now; the old ones stay.
        """
        try:
            with self._lock:
                for name, offsets in taken.offsets.items():
                    written = self._written.get(name)
                    if written is not None and written.number > taken.number:
                        continue
                    if self._is_news(name, taken):
                        self._write(self._directory / name, offsets)
                    self._written[name] = taken  # what is earlier is no news any more
                self._finished_count = max(self._finished_count, taken.number)
        except (StorageFailure, *MISSING) as error:
            raise DirectoryFailure(self._directory, error) from error

    def are_below(self, log: "UnifiedLog") -> bool:
        """Whether the disk says nothing above the marks of a log, nor soon will.

        It need not be written then before the log is cut to where they have fallen.
        """
        marks = {
            RECOVERY_POINTS_NAME: log.recovery_point,
            LOG_STARTS_NAME: log.log_start_offset,
            HIGH_WATERMARKS_NAME: log.high_watermark,
        }
        if self._finished_count != self._taken_count or marks.keys() - self._written:
            return False
        return all(
            self._written[name].offsets[name].get(log.topic_partition, 0) <= mark
            for name, mark in marks.items()
        )

    def keep_room(self) -> None:
        """Take the room for writing them again: there may be some now. For a disk
        thread.
        """
        with self._lock:
            self._reserve.keep()

    def _write(self, path: Path, offsets: Mapping[TopicPartition, int]) -> None:
        """Write one, on a full disk into the room that was kept for that."""
        try:
            write_offsets(self._files, path, offsets)
        except DiskFull:
            if not self._reserve.give_up():
                raise
            write_offsets(self._files, path, offsets)
        self._reserve.keep()

    def _numbered(
        self, offsets: Mapping[str, Mapping[TopicPartition, int]]
    ) -> TakenOffsets:
        self._taken_count += 1
        return TakenOffsets(self._taken_count, self._gone_count, offsets)

    def _is_news(self, name: str, taken: TakenOffsets) -> bool:
        written = self._written.get(name)
        return written is None or (
            written.number < taken.number
            and (
                written.gone_count != taken.gone_count
                or written.offsets[name] != taken.offsets[name]
            )
        )

    def _note_log_start(self, log: "UnifiedLog") -> None:
        topic_partition, log_start = log.topic_partition, log.log_start_offset
        # Once said, it is said again when the log begins with a segment: a power cut
        # may bring back those before it.
        if (
            log_start > log.local.segments.first.base_offset
            or topic_partition in self._log_starts
        ):
            self._log_starts[topic_partition] = log_start

    def _read(
        self, name: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        try:
            offsets = read_offsets(self._files, self._directory / name)
        except CheckpointError as error:
            _log.warning("%s; it is not used", error)
            return {}
        return {
            topic_partition: offset
            for topic_partition, offset in offsets.items()
            if topic_partition in partitions
        }


def writing_job(
    jobs: Sequence[tuple[DirectoryCheckpoints, TakenOffsets]],
) -> Callable[[], None]:
    """Writes several, for a disk thread; one that fails does not keep the others.

    The job raises `KafkaStorageError`: if there is one, `DirectoryFailure`.
    """

    def write() -> None:
        errors: list[KafkaStorageError] = []
        for checkpoints, taken in jobs:
            try:
                checkpoints.write(taken)
            except KafkaStorageError as error:
                errors.append(error)
        if errors:
            raise max(errors, key=lambda each: isinstance(each, DirectoryFailure))

    return write
