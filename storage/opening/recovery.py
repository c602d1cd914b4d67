"""Recovery of a log that was not closed: what was not synced is read and written again.

Everything from the *batch* at the recovery point on is read and its checksums compared
(Apache Kafka begins at its segment). Then

- what is valid stays, also behind damage: a flipped bit costs one batch;
- a *torn tail* is cut, *damage inside* is quarantined (`found_damage`);
- indexes, transaction indexes, leader epochs, producers and the snapshots beside the
  segments are made anew from there;
- what lies above the recovery point is written once more, as it is. The kernel may hold
  it in memory as clean after a sync that failed, and no later sync would then put it
  on the disk.
"""

import logging
from pathlib import Path

from odradek.protocol.batch_columns import BatchRun
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import File, Files, StorageFailure
from odradek.storage.local.segments import LogSegments
from odradek.storage.producers.replay import ProducerReplay, indexed_position
from odradek.storage.producers.snapshot import list_snapshots, snapshot_path
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_lines import LogLines

from .epoch_recovery import EpochRecovery
from .found_damage import FoundDamage, anchored

_log = logging.getLogger(__name__)


class LogRecovery:
    """One recovery.

    ``dirty_files`` are the snapshots that it wrote; ``read_bytes`` are those of the
    ``read_segments`` that it has read, and that are still there.
    """

    def __init__(
        self,
        files: Files,
        directory: Path,
        epochs: EpochRecovery,
        replay: ProducerReplay,
        damage: FoundDamage,
    ) -> None:
        self.dirty_files: list[File] = []
        self.read_segments = self.read_bytes = 0
        self._files = files
        self._directory = directory
        self._epochs = epochs
        self._replay = replay
        self._damage = damage

    def run(self, segments: LogSegments, recovery_point: int) -> int:
        """Recover from ``recovery_point`` on, where the producers are. Returns the end.

        The last segment is active afterwards, the others are sealed.
        """
        self._remove_snapshots_above(recovery_point)
        end = max(recovery_point, segments.last.base_offset) + 1
        affected = segments.values(recovery_point, end)
        for segment in affected:
            segment.indexes.are_expected = False
        before = segments.lower(affected[0].base_offset)
        if before is not None and affected[0].base_offset == recovery_point:
            # It is durable, but maybe not that it was cut when it was sealed.
            self._damage.cut_zeros(before, recovery_point)
            before.log.rewrite(before.size)
        position = indexed_position(affected[0], recovery_point)
        for segment in affected:
            if segment is not affected[0]:
                self._write_snapshot(segment.base_offset)
            next_offset = self._recover(segments, segment, recovery_point, position)
            if segment is not segments.last:
                segment.seal()
            position = 0
        self._epochs.finish()
        return next_offset

    def _recover(
        self, segments: LogSegments, segment: LogSegment, start: int, position: int
    ) -> int:
        self._replay.begin(segment, start, position)
        recovery = anchored(segment, segment.recover(position, self._take, start))
        self._damage.keep(segment, recovery)
        lost = self._damage.settle_tail(segments, segment, recovery)
        self._replay.end(segment, lost)
        segment.transactions.rewrite()
        self.read_segments += 1
        if position < segment.size:
            self.read_bytes += segment.size - position
            segment.log.rewrite(position)
        return recovery.next_offset

    def _take(self, run: BatchRun) -> None:
        self._epochs.take_run(run)
        self._replay.take(run)

    def _remove_snapshots_above(self, offset: int) -> None:
        """They may say what the recovery will not find."""
        for found in list_snapshots(self._files, self._directory):
            if found > offset:
                self._files.unlink(snapshot_path(self._directory, found))

    def _write_snapshot(self, offset: int) -> None:
        """Keep the producers beside the segment that begins at ``offset``."""
        path = snapshot_path(self._directory, offset)
        try:
            file = self._files.open(path, create=True)
            self.dirty_files.append(file)
            file.truncate(0)
            file.append(self._replay.producers.encode())
        except StorageFailure:
            raise
        except KafkaStorageError as error:  # no room, or too many open files
            lines = LogLines(_log, self._directory)
            lines.warning("no producer snapshot at %d: %s", offset, error)
