"""Opens the log of a partition: as it was left, or after what has happened to it.

After a clean stop the files are believed: segments are opened by name, the end of the
last one is looked at from its last index entry on, producers come from the snapshot
at the log end. Nothing is scanned.

Otherwise everything from the *batch* at the recovery point on is read and its
checksums compared (Apache Kafka begins at its segment). Then

- what is valid stays, also behind damage: a flipped bit costs one batch;
- a *torn tail*, behind which nothing valid follows, is cut;
- the log end is never below the recovery point or the log start: an offset that may
  have been seen is not given again, but skipped by a new segment;
- what lies above the recovery point is written once more, as it is. The kernel may
  hold it in memory as clean after a sync that failed, and no later sync would then
  put it on the disk;
- indexes, epochs, producers are made anew from there, and all of it is synced.

So a log that was loaded is durable to its end, in both cases.
"""

import logging
from pathlib import Path
from typing import NamedTuple

from protocol.record_batch import BatchHeader
from protocol.topic_partition import TopicPartition

from .batch_scan import BatchScan, Recovery
from .batch_walk import BATCH_START_SIZE, last_offset_at
from .checkpoints import EPOCHS_NAME
from .files import Files
from .formats.checkpoint import CheckpointError
from .leader_epochs import LeaderEpochs
from .leftovers import remove_leftovers, remove_stray_snapshots
from .local_log import LocalLog
from .log_config import LogConfig
from .log_files import LOG, base_offset_of
from .log_segment import LogSegment
from .log_segments import LogSegments
from .log_state import LogParts
from .partition_metadata import (
    PARTITION_METADATA_NAME,
    format_partition_metadata,
)
from .producer_snapshot import list_snapshots, snapshot_path
from .producer_states import ProducerStates, load_newest_snapshot
from .sync_ticket import Unsynced
from .unified_log import UnifiedLog

_EPOCH_LEAP_MAX = 1000

_log = logging.getLogger(__name__)


class Checkpointed(NamedTuple):
    """What the checkpoints of its directory say of a log.

    ``was_clean``: it was closed in order, so its files can be believed.
    """

    was_clean: bool
    recovery_point: int = 0
    log_start_offset: int = 0


class Surroundings(NamedTuple):
    """What loading and making logs takes besides the log itself."""

    files: Files
    now_ms: int
    producer_id_expiration_ms: int = 86_400_000


def create_log(
    topic_partition: TopicPartition,
    topic_id: bytes,
    directory: Path,
    config: LogConfig,
    surroundings: Surroundings,
) -> UnifiedLog:
    """A new, empty log. Its directory and names become durable with its first sync."""
    files, now_ms, expiration_ms = surroundings
    unsynced = Unsynced()
    unsynced.note_new_directory(
        {PARTITION_METADATA_NAME: format_partition_metadata(topic_id)}
    )
    parts = LogParts(
        LocalLog.create(files, directory, config, now_ms),
        LeaderEpochs(files, directory / EPOCHS_NAME),
        ProducerStates(expiration_ms),
        unsynced,
    )
    return UnifiedLog(topic_partition, topic_id, parts, log_start_offset=0)


def load_log(
    topic_partition: TopicPartition,
    topic_id: bytes,
    directory: Path,
    config: LogConfig,
    checkpointed: Checkpointed,
    surroundings: Surroundings,
) -> UnifiedLog:
    """The log in ``directory``, durable to its end. Waits for the disk.

    Raises:
        KafkaStorageError: the disk fails; what is in the files never raises.
    """
    loader = _Loader(directory, config, checkpointed, surroundings)
    parts = loader.load()
    return UnifiedLog(topic_partition, topic_id, parts, loader.log_start_offset)


class _Loader:
    """One loading; its steps share what they have found so far."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        checkpointed: Checkpointed,
        surroundings: Surroundings,
    ) -> None:
        self.log_start_offset = checkpointed.log_start_offset
        self._directory = directory
        self._config = config
        self._was_clean, self._recovery_point, _ = checkpointed
        self._files, self._now_ms, expiration_ms = surroundings
        self._producers = ProducerStates(expiration_ms)
        self._epochs = LeaderEpochs(self._files, directory / EPOCHS_NAME)
        self._has_new_names = False

    def load(self) -> LogParts:
        self._has_new_names = remove_leftovers(self._files, self._directory)
        segments = self._open_segments()
        self.log_start_offset = max(self.log_start_offset, segments.first.base_offset)
        self._load_epochs()
        if self._was_clean:
            next_offset = self._believe(segments)
        else:
            next_offset = self._recover(segments)
        local = self._local_log(segments, next_offset)
        self._epochs.truncate_from_end(local.end.offset + 1)
        self._epochs.truncate_from_start(self.log_start_offset)
        self._producers.map_end_offset = local.end.offset
        self._producers.on_high_watermark(local.end.offset)
        unsynced = self._make_durable(local)
        return LogParts(local, self._epochs, self._producers, unsynced)

    def _open_segments(self) -> LogSegments:
        names = self._files.listdir(self._directory)
        bases = [base_offset_of(name) for name in names if name.endswith(LOG)]
        if not bases:
            _log.warning("%s has no segments", self._directory)
            return LogSegments([self._make_segment(self.log_start_offset)])
        return LogSegments(
            LogSegment(self._files, self._directory, base, self._config, self._now_ms)
            for base in bases
        )

    def _make_segment(self, base_offset: int) -> LogSegment:
        self._has_new_names = True
        return LogSegment.create(
            self._files, self._directory, base_offset, self._config, self._now_ms
        )

    def _load_epochs(self) -> None:
        try:
            self._epochs = LeaderEpochs.load(self._files, self._directory)
        except CheckpointError as error:
            # The batches carry their epochs too, and recovery reads them.
            _log.warning("%s; the leader epochs begin anew", error)

    # After a clean stop

    def _believe(self, segments: LogSegments) -> int:
        """Find the log end, and the producers there. Returns the log end."""
        recovery = segments.last.activate()
        self._report(segments.last, recovery)
        segments.last.cut(recovery.valid_end)
        end = recovery.next_offset
        # Who never wrote a snapshot has no producers to lose (``spec`` B7.4).
        if list_snapshots(self._files, self._directory):
            self._load_producers(segments, end)
        return end

    # After anything else

    def _recover(self, segments: LogSegments) -> int:
        """Read what may not be on the disk, and write it again. Returns the log end."""
        start = self._recovery_point
        end = max(start, segments.last.base_offset) + 1
        self._load_producers(segments, start)
        position = _indexed_position(segments.values(start, end)[0], start)
        next_offset = start
        for segment in segments.values(start, end):
            next_offset = self._recover_segment(segment, position)
            if segment is not segments.last:
                segment.seal()
            position = 0
        return next_offset

    def _recover_segment(self, segment: LogSegment, position: int) -> int:
        recovery = segment.recover(position, self._take_recovered)
        self._report(segment, recovery)
        if recovery.next_offset >= self._recovery_point:
            segment.cut(recovery.valid_end)
        # What lies below the recovery point was on the disk, and is not given up.
        if position < segment.size:
            segment.log.rewrite(position)
        return recovery.next_offset

    def _take_recovered(
        self, position: int, header: BatchHeader, batch: memoryview
    ) -> None:
        self._take_epoch(header)
        self._take_producer(header, batch)

    def _take_epoch(self, header: BatchHeader) -> None:
        epoch, latest = header.partition_leader_epoch, self._epochs.latest_epoch
        if epoch <= latest:
            return
        # The checksum does not cover the epoch: a flipped bit there is a leap.
        if latest >= 0 and epoch - latest > _EPOCH_LEAP_MAX:
            _log.warning(
                "%s: the batch at offset %d says leader epoch %d after %d: ignored",
                self._directory,
                header.base_offset,
                epoch,
                latest,
            )
            return
        self._epochs.assign(epoch, header.base_offset)

    # Both

    def _load_producers(self, segments: LogSegments, end: int) -> None:
        """The producers as they were at ``end``: a snapshot, and what followed it."""
        load_newest_snapshot(
            self._files, self._directory, self._producers, end, self._now_ms
        )
        start = self._producers.map_end_offset
        if start >= end:
            return
        for segment in segments.values(start, end):
            position = _indexed_position(segment, start)
            scan = BatchScan(segment.log, position, segment.base_offset, False)
            for _, header, batch in scan:
                if header.base_offset < end:
                    self._take_producer(header, batch)

    def _take_producer(self, header: BatchHeader, batch: memoryview) -> None:
        producers = self._producers
        if header.producer_id < 0 or header.base_offset < producers.map_end_offset:
            return
        producers.map_end_offset = header.next_offset
        completed = producers.add(
            header, batch, header.base_offset, header.max_timestamp
        )
        if completed is not None:
            producers.complete(completed)

    def _report(self, segment: LogSegment, recovery: Recovery) -> None:
        path = segment.log.path
        for damaged in recovery.damaged:
            _log.warning(
                "%s: the bytes from %d to %d hold no valid batch", path, *damaged[:2]
            )
        if recovery.is_torn:
            _log.warning(
                "%s: nothing valid follows offset %d, %d bytes",
                path,
                recovery.next_offset,
                recovery.size - recovery.valid_end,
            )

    def _local_log(self, segments: LogSegments, next_offset: int) -> LocalLog:
        """The log, which does not end below what may have been seen of it."""
        local = LocalLog(
            self._files, self._directory, self._config, segments, next_offset
        )
        seen = max(self._recovery_point, self.log_start_offset)
        if next_offset < seen:
            _log.warning(
                "%s ends at %d and was durable up to %d: what was between is lost, its"
                " offsets are not used again",
                self._directory,
                next_offset,
                seen,
            )
            local.roll(seen, self._now_ms)
            local.end = local.end._replace(offset=seen)
            self._has_new_names = True
        return local

    def _make_durable(self, local: LocalLog) -> Unsynced:
        """Sync whatever loading has changed, or was not to be believed."""
        end = local.end.offset
        bases = [segment.base_offset for segment in local.segments]
        # Snapshots that the recovery has overtaken may say what it did not find.
        limit = end if self._was_clean else min(end, self._recovery_point)
        if remove_stray_snapshots(self._files, self._directory, bases, limit):
            self._has_new_names = True
        for segment in local.segments:
            for file in segment.dirty_files():
                file.sync()
        self._epochs.flush()
        snapshot = snapshot_path(self._directory, end)
        if not self._was_clean:
            self._files.write_atomic(snapshot, self._producers.encode())
        if self._has_new_names or not self._was_clean:
            self._files.sync_directory(self._directory)
            self._files.sync_directory(self._directory.parent)
        unsynced = Unsynced()
        if self._files.exists(snapshot):
            unsynced.note_snapshot(end)
        return unsynced


def _indexed_position(segment: LogSegment, offset: int) -> int:
    """Where to begin reading so as not to miss ``offset``."""
    entry = segment.indexes.floor(offset)
    start = segment.log.read_at(entry.position, BATCH_START_SIZE)
    return entry.position if last_offset_at(start) == entry.offset else 0
