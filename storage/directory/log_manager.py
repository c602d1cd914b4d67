"""All logs of a broker: opened, made, deleted, checkpointed, closed.

Opening a broker reads names and checkpoints, no logs. A log is loaded when it is first
needed, in a disk thread, and then registered on the loop; `load` therefore changes
nothing here. A partition has a directory from its first append on.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from odradek.protocol.errors import InconsistentTopicId, KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import MISSING, Files, StorageFailure
from odradek.storage.files.meta_properties import META_PROPERTIES_NAME
from odradek.storage.files.partition_metadata import write_partition_metadata

from .checkpoints import DirectoryFailure, MakeLock, writing_job
from .log_directories import LogDirectories, Lookup
from .log_directory import DirectoryKind, DirectoryLock, LogDirectory, TakeLock
from .removals import Removals

if TYPE_CHECKING:
    from odradek.storage.cleaner.cleaner_checkpoint import CleanerCheckpoint
    from odradek.storage.log.unified_log import UnifiedLog
    from odradek.storage.opening.loader import Surroundings
    from odradek.storage.segment.log_segment import LogSegment
    from odradek.storage.values.log_config import LogConfig

    from .log_move import LogMove

CloseAll: TypeAlias = "Callable[[Iterable[UnifiedLog]], Iterable[bool]]"

_DAY_MS = 86_400_000
_log = logging.getLogger(__name__)


def _close_in_turn(logs: "Iterable[UnifiedLog]") -> Iterable[bool]:
    return [log.close() for log in logs]


class LogManager:
    """The logs in the directories of one broker."""

    def __init__(  # noqa: PLR0913 - its options, by their names
        self,
        directories: Sequence[Path],
        files: Files,
        *,
        cluster_id: str,
        node_id: int,
        producer_id_expiration_ms: int = _DAY_MS,
        verifies_transactions: bool = False,
        take_lock: TakeLock = DirectoryLock,
        make_lock: MakeLock = nullcontext,
    ) -> None:
        self.directories = LogDirectories(
            [LogDirectory(files, each, make_lock) for each in directories]
        )
        self.files = files
        self._identity = cluster_id, node_id
        self._producer_options = producer_id_expiration_ms, verifies_transactions
        self._take_lock = take_lock
        self._logs: dict[TopicPartition, UnifiedLog] = {}
        self._homes = self.directories.homes
        self.removals = Removals(files)

    def open(self, lookup: Lookup = lambda _: None) -> None:
        """Take the directories: see `LogDirectories.open`."""
        self.directories.open(*self._identity, self._take_lock, lookup)
        for directory in self.directories:
            for path, topic_partition in directory.deleted.items():
                self.removals.add_directory(path, topic_partition, due_ms=0)

    def update_producer_options(
        self, producer_id_expiration_ms: int, verifies_transactions: bool
    ) -> None:
        """Let all logs forget producers then, and verify transactions or not."""
        self._producer_options = producer_id_expiration_ms, verifies_transactions
        for log in self._logs.values():
            log.producers.expiration_ms = producer_id_expiration_ms
            log.producers.verifies = verifies_transactions

    @property
    def was_clean(self) -> bool:
        """Whether every directory was closed in order, so that its logs are whole."""
        return self.directories.was_clean

    # Which logs there are

    def get(self, topic_partition: TopicPartition) -> "UnifiedLog | None":
        """The log, if it is open."""
        return self._logs.get(topic_partition)

    def logs(self) -> "list[UnifiedLog]":
        """All open logs."""
        return list(self._logs.values())

    def has_directory(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition has a directory, and with it perhaps records."""
        return topic_partition in self._homes

    def directories_of(self) -> Mapping[TopicPartition, Path]:
        """The directory of every partition that has one."""
        return {
            topic_partition: home.partitions[topic_partition]
            for topic_partition, home in self._homes.items()
        }

    def topic_id_of(self, topic_partition: TopicPartition) -> bytes | None:
        """The topic id in a partition's directory; None when that does not say."""
        return self._homes[topic_partition].topic_id_of(topic_partition)

    def checkpointed_high_watermark(self, log: "UnifiedLog") -> int:
        """The high watermark with which a follower's log begins after a start.

        The only replica has no need of it: what it loads is durable to its end.
        """
        home = self._homes[log.topic_partition]
        found = home.checkpoints.high_watermark(log.topic_partition)
        return min(max(found, log.log_start_offset), log.log_end_offset)

    # Open, make, delete

    def load(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        config: "LogConfig",
        now_ms: int,
        newest_epoch: int = -1,
    ) -> "UnifiedLog":
        """Open a log that is on disk, recovered if need be, durable to its end.

        In a disk thread; then `register` it. ``newest_epoch``: see `EpochRecovery`.

        Raises:
            InconsistentTopicId: the directory is that of another topic of this name.
            KafkaStorageError: the disk fails.
        """
        from odradek.storage.opening.loader import load_log

        home = self._homes[topic_partition]
        path = home.partitions[topic_partition]
        found = self.topic_id_of(topic_partition)
        if found is None:
            from odradek.storage.values.log_lines import LogLines

            told = "it does not say of which topic it is; it does now"
            LogLines(_log, path).warning(told)
            write_partition_metadata(self.files, path, topic_id)
        elif found != topic_id:
            other = f"{path} belongs to another topic of this name; it is left as it is"
            raise InconsistentTopicId(other)
        return load_log(
            topic_partition,
            topic_id,
            path,
            config,
            home.checkpointed(topic_partition),
            self._surroundings(now_ms)._replace(newest_epoch=newest_epoch),
        )

    def register(self, log: "UnifiedLog") -> None:
        """Take in a log that was loaded, unless its partition is deleted by now."""
        home = self._homes.get(log.topic_partition)
        if home is None:
            for segment in log.local.segments:
                segment.log.close()
            return
        self._logs[log.topic_partition] = log
        if home.failure is not None:
            log.fail(home.failure)

    def create(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        config: "LogConfig",
        directory: Path | str | None,
        now_ms: int,
    ) -> "UnifiedLog":
        """Make the log of a partition that has none, in ``directory`` or where there
        are the fewest.

        Raises:
            DiskFull: there is no room for it.
            DirectoryFailure: the disk fails, or the directory is gone.
            KafkaStorageError: the directory has failed before.
        """
        from odradek.storage.opening.loader import create_log

        assert topic_partition not in self._homes, topic_partition
        home = self.directories.choose(None if directory is None else Path(directory))
        path = home.path / str(topic_partition)
        try:
            # Without its disk it would be made anew, or be what lies under a mount.
            if not self.files.exists(home.path / META_PROPERTIES_NAME):
                raise StorageFailure(f"{home.path} is gone")
            log = create_log(
                topic_partition, topic_id, path, config, self._surroundings(now_ms)
            )
        except (StorageFailure, *MISSING) as error:
            raise DirectoryFailure(home.path, error) from error
        home.partitions[topic_partition] = path
        self.directories.settle(topic_partition, home)
        self._logs[topic_partition] = log
        return log

    def _surroundings(self, now_ms: int) -> "Surroundings":
        from odradek.storage.opening.loader import Surroundings

        return Surroundings(self.files, now_ms, *self._producer_options)

    def delete(self, topic_partition: TopicPartition, removal_ms: int = 0) -> Path:
        """Take a partition's log away: its directory gets another name, returned.

        The files go with the `removal_job` of ``removal_ms`` or a later one. Before
        the name is used again, checkpoints are to be written: they still speak of the
        old log.

        Raises:
            DirectoryFailure: it cannot be renamed, and is as it was.
        """
        path, log = self._rename(topic_partition, DirectoryKind.DELETE)
        segments = () if log is None else log.local.segments
        self.removals.add_directory(path, topic_partition, removal_ms, segments)
        return path

    def set_aside(self, topic_partition: TopicPartition) -> Path:
        """Rename a directory that is in the way of a topic of its name; it is kept."""
        path, _ = self._rename(topic_partition, DirectoryKind.STRAY)
        _log.warning("what was in %s is kept as %s", topic_partition, path)
        return path

    def _rename(
        self, topic_partition: TopicPartition, kind: DirectoryKind
    ) -> "tuple[Path, UnifiedLog | None]":
        path = self._homes[topic_partition].rename(topic_partition, kind)
        del self._homes[topic_partition]
        log = self._logs.pop(topic_partition, None)
        if log is not None:
            log.retire(path)
        return path, log

    # Moving to another log directory

    def begin_move(self, log: "UnifiedLog", directory: Path) -> "LogMove":
        """A move of ``log`` to one of the directories; nothing is done yet.

        Raises:
            KafkaStorageError: the directory has failed.
        """
        home = self._homes[log.topic_partition]
        from .log_move import LogMove

        return LogMove(self.files, log, home, self.directories.choose(directory))

    def exchange(self, move: "LogMove", now_ms: int) -> None:
        """Let the log go on in the directory that it moves to.

        Raises:
            KafkaStorageError, FileNotFoundError: it is where it was.
        """
        topic_partition = move.log.topic_partition
        path, old = move.exchange()
        self.directories.settle(topic_partition, move.target)
        due_ms = now_ms + move.log.config.file_delete_delay_ms
        self.removals.add_directory(path, topic_partition, due_ms, old)

    def discard_copies(self, topic_ids: Collection[bytes]) -> None:
        """Let what moves have left of these topics be removed: they are deleted."""
        for directory in self.directories:
            for path, topic_partition in list(directory.futures.items()):
                if directory.future_topic_id(path) in topic_ids:
                    target = directory.discard(path)
                    self.removals.add_directory(target, topic_partition, due_ms=0)

    # What is done from time to time

    def delete_old_segments(self, log: "UnifiedLog", now_ms: int) -> int:
        """Let go of what the topic's retention lets go. Returns how many segments.

        Raises:
            KafkaStorageError: the disk fails, or is full.
        """
        from odradek.storage.log.retention import delete_old_segments

        gone = delete_old_segments(log, now_ms)
        self.remove_later(log, gone, now_ms)
        return len(gone)

    def cleaner_checkpoint(self, log: "UnifiedLog") -> "CleanerCheckpoint":
        """Where it is written down up to where a log was cleaned."""
        return self._homes[log.topic_partition].cleaner_checkpoint

    def remove_later(
        self, log: "UnifiedLog", segments: "Iterable[LogSegment]", now_ms: int
    ) -> None:
        """Remove the files of old segments when the topic's delay for that is over."""
        due_ms = now_ms + log.config.file_delete_delay_ms
        for segment in segments:
            self.removals.add_segment(segment, due_ms)

    def removal_job(self, now_ms: int) -> Callable[[], None] | None:
        """The removal of what is due by ``now_ms``, for a disk thread: old segments
        and deleted partitions. None when there is nothing.
        """
        job = self.removals.job(now_ms)
        if job is None:
            return None

        def remove() -> None:
            job()
            for directory in self.directories:
                if directory.failure is None:
                    directory.checkpoints.keep_room()

        return remove

    @property
    def unremoved_partitions(self) -> set[TopicPartition]:
        """The deleted partitions whose files are still there."""
        return self.removals.unremoved_partitions

    # Failure, checkpoints, end

    def fail_directory(self, path: Path, error: KafkaStorageError) -> None:
        """Note that the disk under a log directory has failed: no more writes."""
        for topic_partition in self.directories.fail(path, error):
            log = self._logs.get(topic_partition)
            if log is not None:
                log.fail(error)

    def checkpoint_job(self, only: "LogDirectory | None" = None) -> Callable[[], None]:
        """What is to be written to the checkpoints now, as a job for a disk thread.

        ``only``: to those of that log directory. One that cannot be written does not
        keep the others. The job then raises `KafkaStorageError`: if there is one,
        `DirectoryFailure`.
        """
        wanted = self.directories if only is None else [only]
        homes = [each for each in wanted if each.failure is None]
        found = [(each.checkpoints, self._open_logs(each)) for each in homes]
        return writing_job([(each, each.take(logs)) for each, logs in found])

    def log_starts_job(self, directories: Collection[Path]) -> Callable[[], None]:
        """As `checkpoint_job`, for the log starts of some log directories alone.

        When the job has run, no crash brings back what is below the log starts that
        were taken.

        Raises:
            KafkaStorageError: one of the directories has failed; the job, as above.
        """
        homes = [each for each in self.directories if each.path in directories]
        for home in homes:
            if home.failure is not None:
                raise home.failure
        found = [(each.checkpoints, self._open_logs(each)) for each in homes]
        return writing_job([(each, each.take_log_starts(logs)) for each, logs in found])

    def close(self, close_all: CloseAll = _close_in_turn) -> bool:
        """Make everything durable, say so, and let go. Waits for the disk.

        ``close_all`` may close several logs at a time. The marker of a clean stop is
        written last, into each directory in which nothing has failed and nothing is
        left to recover. Returns whether all have it.
        """
        is_clean = True
        for directory in self.directories:
            try:
                is_clean = self._close_directory(directory, close_all) and is_clean
            except (KafkaStorageError, OSError) as error:
                _log.error("%s is not closed in order: %s", directory.path, error)
                is_clean = False
        self.directories.release()
        return is_clean

    def _close_directory(self, directory: LogDirectory, close_all: CloseAll) -> bool:
        logs = self._open_logs(directory)
        is_clean = all(list(close_all(logs)))
        if not is_clean or directory.failure is not None:
            return False
        directory.checkpoints.write(directory.checkpoints.take(logs))
        if not directory.was_clean and len(logs) < len(directory.partitions):
            _log.warning("%s has logs that were not recovered yet", directory.path)
            return False
        directory.mark_clean()
        return True

    def _open_logs(self, directory: LogDirectory) -> "list[UnifiedLog]":
        return [
            self._logs[topic_partition]
            for topic_partition in directory.partitions
            if topic_partition in self._logs
        ]
