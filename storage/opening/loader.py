"""Opens the log of a partition: as it was left, or after what has happened to it.

After a clean stop the files are believed: segments are opened by name, the end of the
last one is looked at from its last index entry on, producers come from the snapshot
at the log end. Nothing is scanned. Otherwise see `recovery`.

In both cases

- what is wrong with a file is reported and worked around, never raised;
- the log end is never below the recovery point or the log start: an offset that may
  have been seen is not given again, but skipped by a new segment;
- a log that was loaded is durable to its end.
"""

import logging
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.checkpoints import EPOCHS_NAME, Checkpointed
from odradek.storage.files.files import File, Files
from odradek.storage.files.partition_metadata import (
    PARTITION_METADATA_NAME,
    begin_partition_metadata,
    format_partition_metadata,
)
from odradek.storage.formats.checkpoint import CheckpointError
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.local.leader_epochs import NO_EPOCH, LeaderEpochs
from odradek.storage.local.local_log import LocalLog
from odradek.storage.local.quarantine import Quarantine
from odradek.storage.local.segments import LogSegments
from odradek.storage.local.unsynced import Unsynced
from odradek.storage.local.watermarks import Watermarks
from odradek.storage.log.state import LogState
from odradek.storage.log.unified_log import Loaded, UnifiedLog
from odradek.storage.producers.replay import ProducerReplay
from odradek.storage.producers.snapshot import list_snapshots, snapshot_path
from odradek.storage.producers.states import ProducerStates, load_newest_snapshot
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import (
    TRANSACTION_INDEX,
    base_offset_of,
    is_segment_file,
    segment_bases,
)
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_lines import LogLines

from .epoch_recovery import EpochRecovery, rebuild_epochs
from .found_damage import FoundDamage, Seen, anchored
from .leftovers import remove_leftovers, remove_stray_snapshots
from .recovery import LogRecovery
from .segment_split import split_overflows

_log = logging.getLogger(__name__)


class Surroundings(NamedTuple):
    """What loading and making logs takes besides the log itself.

    ``verifies`` is what `ProducerStates` takes, ``newest_epoch`` what `EpochRecovery`.
    """

    files: Files
    now_ms: int
    producer_id_expiration_ms: int = 86_400_000
    verifies: bool = False
    newest_epoch: int = NO_EPOCH

    def no_producers(self) -> ProducerStates:
        """The producers of a log of which nothing was read yet."""
        return ProducerStates(self.producer_id_expiration_ms, self.verifies)


def create_log(
    topic_partition: TopicPartition,
    topic_id: bytes,
    directory: Path,
    config: LogConfig,
    surroundings: Surroundings,
) -> UnifiedLog:
    """A new, empty log. Its directory and names become durable with its first sync."""
    files, now_ms = surroundings.files, surroundings.now_ms
    local = LocalLog.create(files, directory, config, now_ms)
    unsynced = Unsynced()
    metadata = begin_partition_metadata(files, directory, topic_id)
    if metadata is not None:
        unsynced.note_small_file(metadata)
        unsynced.note_new_directory({})
    else:
        unsynced.note_new_directory(
            {PARTITION_METADATA_NAME: format_partition_metadata(topic_id)}
        )
    state = LogState(
        topic_partition,
        local,
        LeaderEpochs(files, directory / EPOCHS_NAME),
        surroundings.no_producers(),
        unsynced,
        Quarantine(files, directory),
        Watermarks(local, log_start_offset=0),
    )
    return UnifiedLog(topic_id, state)


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
    loader = _Loader(topic_partition, directory, config, checkpointed, surroundings)
    log = UnifiedLog(topic_id, loader.load())
    log.loaded = loader.loaded
    return log


class _Loader:
    """One loading; its steps share what they have found so far."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        directory: Path,
        config: LogConfig,
        checkpointed: Checkpointed,
        surroundings: Surroundings,
    ) -> None:
        self.log_start_offset = checkpointed.log_start_offset
        self._topic_partition = topic_partition
        self._directory = directory
        self._lines = LogLines(_log, directory)
        self._config = config
        self._was_clean, self._recovery_point, _ = checkpointed
        self._files, self._now_ms = surroundings.files, surroundings.now_ms
        self._no_producers = surroundings.no_producers
        self._newest_epoch = surroundings.newest_epoch
        self._replay = ProducerReplay(self._no_producers())
        self._epochs = LeaderEpochs(self._files, directory / EPOCHS_NAME)
        self._quarantine = Quarantine.load(self._files, directory)
        self._has_new_names = False
        self._snapshots: list[File] = []
        self._recovered_offsets = self._cut_bytes = 0
        self._read_segments = self._read_bytes = 0

    @property
    def loaded(self) -> Loaded:
        """What `load` has done."""
        return Loaded(
            not self._was_clean,
            self._recovered_offsets,
            self._cut_bytes,
            self._read_segments,
            self._read_bytes,
        )

    def load(self) -> LogState:
        leftovers = remove_leftovers(self._files, self._directory)
        self._has_new_names = leftovers.has_new_names
        segments = self._open_segments(leftovers.names)
        self.log_start_offset = max(self.log_start_offset, segments.first.base_offset)
        self._load_epochs(segments)
        self._check_transactions(segments, leftovers.names)
        damage = self._found_damage()
        damage.note_missing(segments, leftovers.missing_bases)
        if self._was_clean:
            next_offset = self._believe(segments, damage)
        else:
            next_offset = self._recover(segments, damage)
        self._cut_bytes = damage.cut_bytes
        self._replay.report_uncertain(self._directory)
        local = self._local_log(segments, next_offset)
        self._epochs.truncate_from_end(local.end.offset + 1)
        if not self._epochs.entries:  # all were those of a log that is not there
            rebuild_epochs(self._directory, self._epochs, segments)
        self._epochs.truncate_from_start(self.log_start_offset)
        self._quarantine.truncate_from_start(segments.first.base_offset)
        producers = self._replay.producers
        producers.map_end_offset = local.end.offset
        producers.on_high_watermark(local.end.offset)
        self._set_quarantined(segments)
        unsynced = self._make_durable(local)
        return LogState(
            self._topic_partition,
            local,
            self._epochs,
            producers,
            unsynced,
            self._quarantine,
            Watermarks(local, self.log_start_offset),
        )

    def _open_segments(self, names: list[str]) -> LogSegments:
        bases = segment_bases(names)
        if not bases:
            self._lines.warning("there are no segments")
            return LogSegments([self._make_segment(self.log_start_offset)])
        split = split_overflows(
            self._files, self._directory, bases, self._recovery_point
        )
        if split:
            self._has_new_names = True
            bases = segment_bases(self._files.listdir(self._directory))
        segments = LogSegments(
            LogSegment(self._files, self._directory, base, self._config, self._now_ms)
            for base in bases
        )
        self._set_quarantined(segments)
        return segments

    def _set_quarantined(self, segments: LogSegments) -> None:
        for segment in segments:
            self._quarantine.bound(segment.base_offset, segment.reader.end.limit)
            entries = self._quarantine.of_segment(segment.base_offset)
            if entries or segment.reader.quarantined:
                segment.reader.quarantined = entries

    def _make_segment(self, base_offset: int) -> LogSegment:
        self._has_new_names = True
        return LogSegment.create(
            self._files, self._directory, base_offset, self._config, self._now_ms
        )

    def _load_epochs(self, segments: LogSegments) -> None:
        try:
            self._epochs = LeaderEpochs.load(self._files, self._directory)
        except CheckpointError as error:
            self._lines.warning(
                "%s; the leader epochs are taken from the batches", error
            )
        if self._was_clean and not self._epochs.entries:
            rebuild_epochs(self._directory, self._epochs, segments)

    def _check_transactions(self, segments: LogSegments, names: list[str]) -> None:
        """Rebuild the transaction indexes that cannot be believed."""
        for name in names:
            if not (name.endswith(TRANSACTION_INDEX) and is_segment_file(name)):
                continue
            segment = segments.get(base_offset_of(name))
            if segment is None:
                continue
            try:
                segment.transactions.check()
                # The file is made with its first entry; recovery reads it anyway.
                is_emptied = self._was_clean and not segment.transactions.entries()
                reason = f"{segment.transactions.path} is empty" if is_emptied else ""
            except CorruptIndex as error:
                reason = str(error)
            if reason:
                self._replace_transactions(segments, segment.base_offset, reason)

    def _replace_transactions(
        self, segments: LogSegments, base_offset: int, reason: str
    ) -> None:
        """Read the transactions that end in a segment out of its batches."""
        last = segments.get(base_offset)
        if last is None:
            return
        path = last.transactions.path
        self._lines.warning("%s: noticed and rebuilt (%s)", path.name, reason)
        last.transactions.clear()
        replay = ProducerReplay(self._no_producers())
        start = self._load_snapshot(replay, base_offset)
        for segment in segments.values(start, base_offset + 1):
            recovery = replay.read(segment, start)
            replay.end(segment, recovery.next_offset)
        if not last.transactions.entries():
            last.transactions.remove()

    def _found_damage(self) -> FoundDamage:
        seen = Seen(
            self._was_clean,
            self.log_start_offset,
            self._recovery_point,
            self._config.is_compacted,
        )
        return FoundDamage(self._quarantine, self._epochs, seen)

    def _believe(self, segments: LogSegments, damage: FoundDamage) -> int:
        """Find the log end, and the producers there. Returns the log end."""
        active = segments.last
        recovery = anchored(active, active.activate(self._recovery_point))
        damage.keep(active, recovery)
        lost = damage.settle_tail(segments, active, recovery)
        end = recovery.next_offset
        # A snapshot behind damage at the end knows what that held.
        known_end = max(end, lost)
        active.reader.end.put_before(known_end)
        active.transactions.truncate_to(known_end)
        if list_snapshots(self._files, self._directory):
            self._load_producers(segments, known_end, damage)
        elif end > segments.first.base_offset:
            # Who never wrote a snapshot has no producers to lose. It has one now,
            # so that a recovery need not begin with the first segment.
            for offset in {segments.last.base_offset, end}:
                self._write_snapshot(offset)
        return end

    def _recover(self, segments: LogSegments, damage: FoundDamage) -> int:
        """Read what may not be on the disk, and write it again. Returns the log end."""
        self._load_producers(segments, self._recovery_point, damage)
        epochs = EpochRecovery(self._directory, self._epochs, self._newest_epoch)
        recovery = LogRecovery(
            self._files, self._directory, epochs, self._replay, damage
        )
        end = recovery.run(segments, self._recovery_point)
        self._recovered_offsets = max(end - self._recovery_point, 0)
        self._read_segments = recovery.read_segments
        self._read_bytes = recovery.read_bytes
        self._snapshots += recovery.dirty_files
        return end

    def _load_producers(
        self, segments: LogSegments, end: int, damage: FoundDamage
    ) -> None:
        """The producers as they were at ``end``: a snapshot, and what followed it."""
        start = self._load_snapshot(self._replay, end)
        if start >= end:
            return
        for segment in segments.values(start, end):
            recovery = anchored(segment, self._replay.read(segment, start, end))
            damage.keep(segment, recovery)
            lost = end  # all below was in the log
            following = segments.higher(segment.base_offset)
            if following is not None and following.base_offset <= end:
                lost = damage.settle_tail(segments, segment, recovery)
            self._replay.end(segment, lost)

    def _load_snapshot(self, replay: ProducerReplay, limit: int) -> int:
        """Start from the newest snapshot up to ``limit``. Returns its offset, or 0."""
        producers = replay.producers
        load_newest_snapshot(
            self._files, self._directory, producers, limit, self._now_ms
        )
        return producers.map_end_offset

    def _local_log(self, segments: LogSegments, next_offset: int) -> LocalLog:
        """The log, which does not end below what may have been seen of it."""
        local = LocalLog(
            self._files, self._directory, self._config, segments, next_offset
        )
        seen = max(self._recovery_point, self.log_start_offset)
        if next_offset < seen:
            self._lines.warning(
                "it ends at %d and was durable up to %d: what was between is lost, its"
                " offsets are not used again",
                next_offset,
                seen,
            )
            local.roll(seen, self._now_ms)
            local.end = local.end._replace(offset=seen)
            self._has_new_names = True
        return local

    def _write_snapshot(self, offset: int) -> None:
        self._files.write_atomic(
            snapshot_path(self._directory, offset), self._replay.producers.encode()
        )

    def _make_durable(self, local: LocalLog) -> Unsynced:
        """Sync whatever loading has changed, or was not to be believed."""
        end = local.end.offset
        bases = [segment.base_offset for segment in local.segments]
        if remove_stray_snapshots(self._files, self._directory, bases, end):
            self._has_new_names = True
        for segment in local.segments:
            for file in segment.dirty_files():
                file.sync()
        for file in self._snapshots:
            if file.is_dirty:
                file.sync()
            file.close()
        self._epochs.flush()
        if not self._was_clean:
            self._write_snapshot(end)  # and syncs the directory
        elif self._has_new_names:
            self._files.sync_directory(self._directory)
        if self._has_new_names or not self._was_clean:
            self._files.sync_directory(self._directory.parent)
        unsynced = Unsynced()
        if self._files.exists(snapshot_path(self._directory, end)):
            unsynced.note_snapshot(local.end)
        return unsynced
