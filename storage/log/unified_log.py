"""The log of one partition: what may be appended, by whom, and who sees how far.

`LocalLog` knows bytes and offsets; here are producers, epochs and watermarks. The
class is put together of parts, which all get the log's `LogState` and know nothing of
each other but what they are given; here are its offsets, its epochs, and its life.

Used by the loop's thread alone; what a disk thread does with the log is in
`sync_ticket`, and reads that must wait go through `ColdRead`.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.files.files import MISSING, StorageFailure
from odradek.storage.local.leader_epochs import EpochEndOffset
from odradek.storage.local.segments import LogSegments
from odradek.storage.local.unsynced import Unsynced
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.producers.snapshot import list_snapshots
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.log_read import FetchedData, FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata

from .abort_index import AbortIndex
from .appender import Appender
from .joint_appender import JointAppender
from .known_damage import KnownDamage
from .reading import LogReading
from .record_count import count_records
from .replica_appender import ReplicaAppender
from .state import LogState
from .syncing import Syncing
from .truncation import LogTruncation
from .visibility import Visibility

_log = logging.getLogger(__name__)


class Loaded(NamedTuple):
    """What became of a log that was on disk: see `log_loader`.

    ``recovered_offsets`` were there beyond what was known to be durable, ``cut_bytes``
    were those of a torn tail. ``read_segments`` and ``read_bytes`` were read again, and
    written once more.
    """

    is_recovered: bool
    recovered_offsets: int
    cut_bytes: int
    read_segments: int
    read_bytes: int


class UnifiedLog:
    """One partition's log: its parts, its offsets, and its life.

    ``appender`` is a leader's, ``replica_appender`` a follower's, ``joint_appender`` a
    coordinator's. ``opened_end_offset`` is where it ended when it was opened,
    ``loaded`` what was done then; None: it was made by this process.
    """

    def __init__(self, topic_id: bytes, state: LogState) -> None:
        """Put the parts together; the log is durable to its end (`log_loader`)."""
        self.topic_partition = state.topic_partition
        self.topic_id = topic_id
        self.local, self.epochs = state.local, state.epochs
        self.producers, self.quarantine = state.producers, state.quarantine
        self.producers.belong_to(state.topic_partition)
        self._watermarks = state.watermarks
        self._state = state
        self.aborts = AbortIndex(state)
        self.damage = KnownDamage(state)
        self.visibility = Visibility(state)
        self.syncing = Syncing(state)
        self.truncation = LogTruncation(state)
        self.appender = Appender(state, self.aborts)
        self.replica_appender = ReplicaAppender(state, self.aborts, self.truncation)
        self.joint_appender = JointAppender(state, self.replica_appender)
        self.reading = LogReading(state, self.visibility, self.damage, self.aborts)
        self.opened_end_offset = self.log_end_offset
        self.fetched_bytes = 0  # by consumers
        self.loaded: Loaded | None = None

    @property
    def directory(self) -> Path:
        """Where its files are."""
        return self.local.directory

    def lines(self, logger: logging.Logger) -> LogLines:
        """What ``logger`` is told of this log."""
        return self._state.lines(logger)

    @property
    def config(self) -> LogConfig:
        """The topic's options."""
        return self.local.config

    @property
    def size(self) -> int:
        """The bytes of its batches on disk."""
        return self.local.size

    @property
    def appended_bytes(self) -> int:
        """The bytes that were appended since it was opened."""
        return self._state.appended_bytes

    def read(
        self,
        start_offset: int,
        size_max: int,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
        min_one: bool = True,
        may_block: bool = False,
    ) -> FetchedData:
        """See `LogReading.read`, which those ask who read often."""
        return self.reading.read(start_offset, size_max, isolation, min_one, may_block)

    # Offsets: see `Visibility` for what readers see of them

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""
        return self._watermarks.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.local.end.offset

    @property
    def end_metadata(self) -> OffsetMetadata:
        """The log end with its place in the files."""
        return self.local.end

    @property
    def recovery_point(self) -> int:
        """The durable offset: everything below survives a power cut."""
        return self._watermarks.durable.offset

    @property
    def durable_end(self) -> OffsetMetadata:
        """The durable offset with its place in the files."""
        return self._watermarks.durable

    @property
    def unflushed_count(self) -> int:
        """How many offsets a power cut could take; for ``flush.messages``."""
        return self.local.end.offset - self._watermarks.durable.offset

    @property
    def high_watermark(self) -> int:
        """The offset up to which consumers see records."""
        return self._watermarks.high.offset

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which every transaction is decided, and replicated."""
        return self.visibility.last_stable_offset

    def count_records_above_high_watermark(self) -> int:
        """The records that are not replicated yet, control records left out.

        `log_end_offset` less `high_watermark` is an upper bound that costs nothing:
        compaction leaves gaps. This reads the batches, and waits for the disk.
        """
        return count_records(self, self.high_watermark)

    def increment_log_start(
        self,
        offset: int,
        reason: LogStartReason = LogStartReason.CLIENT_RECORD_DELETION,
    ) -> bool:
        """Give up everything below ``offset``. Returns whether that was anything.

        Not durable on return: the checkpoint of the log starts makes it so.

        Raises:
            OffsetOutOfRange: ``offset`` is above the high watermark.
        """
        self._state.check_writable()
        if not self._watermarks.raise_log_start(offset, reason):
            return False
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start_offset(offset)
        return True

    # Epochs

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch in the log, -1 when there is none."""
        return self.epochs.latest_epoch

    def assign_epoch(self, leader_epoch: int) -> None:
        """Let a leader's epoch begin at the log end, before any record of it."""
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, self.local.end.offset)

    def epoch_end_offset(self, epoch: int) -> EpochEndOffset:
        """The newest epoch not above ``epoch`` and its end; (-1, -1) if unknown."""
        return self.epochs.end_offset_for(epoch, self.local.end.offset)

    # Failure

    @property
    def is_failed(self) -> bool:
        """Whether the log takes no more writes."""
        return self._state.failure is not None

    def fail(self, error: KafkaError) -> None:
        """Write nothing any more; see `LogState.fail`."""
        self._state.fail(error)

    def fail_without_files(self, error: OSError) -> StorageFailure:
        """`fail`, because somebody has removed the files. Returns what to raise."""
        return self._state.fail_without_files(error)

    # Life

    def update_config(self, config: LogConfig) -> None:
        """Follow a change of the topic's options."""
        self.local.update_config(config)

    def roll(self, now_ms: int, expected_next_offset: int = 0) -> None:
        """Seal the active segment and begin another; see `LogState.roll`."""
        self._state.roll(now_ms, expected_next_offset)

    def flush(self, with_snapshot: bool = False) -> None:
        """Make everything durable now; see `Syncing.flush`."""
        self.syncing.flush(with_snapshot)

    def close(self) -> bool:
        """Make everything durable and let go of the files. For a clean stop.

        Returns whether that worked; if not, the log will be recovered. It can still
        be read, and takes no more writes.
        """
        state = self._state
        try:
            if state.failure is None:
                self.local.active.seal()
                self.flush(with_snapshot=True)
                self._check_producers_are_kept()
        except KafkaStorageError as error:
            self.lines(_log).error("not closed in order: %s", error)
            state.fail(error)
        except MISSING as error:
            self.lines(_log).error("not closed in order: %s", error)
            state.fail_without_files(error)
        with suppress(KafkaStorageError, *MISSING):
            self.local.close()
        if state.failure is not None:
            return False
        state.failure = KafkaStorageError(f"{self.topic_partition} is closed")
        return True

    def _check_producers_are_kept(self) -> None:
        """See that the next start, which reads no batches, knows the producers.

        Raises:
            KafkaStorageError: there was no room for any snapshot of them.
        """
        state, local = self._state, self.local
        if (
            len(state.producers)
            and not state.unsynced.has_snapshot(local.end.offset)
            and not list_snapshots(local.files, local.directory)
        ):
            raise KafkaStorageError("there was no room for its producers")

    def retire(self, directory: Path) -> None:
        """Follow the directory to the name under which it is to be removed."""
        self._state.failure = KafkaStorageError(f"{self.topic_partition} is deleted")
        self._state.unsynced.forget_small_files()
        self.follow_directory(directory)

    def follow_directory(self, directory: Path) -> None:
        """The directory has another name now."""
        self.local.moved(directory)
        self.epochs.moved(directory)
        self.quarantine.moved(directory)

    def use_copy(
        self, directory: Path, segments: LogSegments, unsynced: Unsynced
    ) -> LogSegments:
        """Go on with the files in ``directory``, which hold what these hold.

        ``unsynced`` is what of them is not durable besides the active segment. What is
        durable stays where it is. Returns the old segments.
        """
        old = self.local.use_copy(directory, segments)
        self.epochs.moved(directory)
        self.epochs.is_dirty = True
        self.quarantine.moved(directory)
        self._state.unsynced = unsynced
        return old
