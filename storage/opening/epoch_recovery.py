"""The leader epochs of a log, as its batches and the epoch file together tell them.

The checksum of a batch does not cover its leader epoch. What is known otherwise: epochs
never fall from one batch to the next, and the file names every epoch that began before
its last sync. So

- an epoch that the file gives to that offset is right;
- one that contradicts the file is not: the file wins;
- one above all that the file knows is right if the batch behind confirms it. Without a
  batch behind, the file wins again; without a file, the batch is believed. So it is if
  the epoch is none that is still to come: who loads the log may know the newest.

An epoch that was not believed costs a sole copy nothing but its entry: the epoch of the
next leader is above it in any case. To leaders and followers it matters: they would
never agree on where their histories part.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

from odradek.protocol.batch_columns import BatchRun
from odradek.protocol.record_batch import BatchHeader
from odradek.storage.local.leader_epochs import NO_EPOCH, LeaderEpochs
from odradek.storage.local.segments import LogSegments
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_lines import LogLines

_log = logging.getLogger(__name__)


class EpochRecovery:
    """Takes the batches of a log in order, and completes its leader epochs."""

    def __init__(
        self, directory: Path, epochs: LeaderEpochs, newest_epoch: int = NO_EPOCH
    ) -> None:
        """``newest_epoch``: there was none above it; -1: nobody says."""
        self._directory = directory
        self._newest_epoch = newest_epoch
        self._epochs = epochs
        self._known = epochs.entries
        self._candidate: tuple[int, int] | None = None  # epoch, base offset
        self._ignored: list[tuple[int, int]] = []

    def take_run(self, run: BatchRun) -> None:
        """Take the next valid batches."""
        if self._candidate is None and set(run.columns.leader_epochs) == {
            self._epochs.latest_epoch
        }:
            return
        for _, header, _ in run.batches():
            self.take(header)

    def take(self, header: BatchHeader) -> None:
        """Take the next valid batch."""
        epoch, base_offset = header.partition_leader_epoch, header.base_offset
        if self._candidate is not None:
            self._decide(is_confirmed=epoch >= self._candidate[0])
        latest = self._epochs.latest_epoch
        if epoch in (latest, NO_EPOCH):
            return
        if epoch > latest:
            self._candidate = epoch, base_offset
        elif epoch != self._epochs.epoch_for_offset(base_offset):
            self._ignored.append((epoch, base_offset))

    def finish(self) -> None:
        """Decide about the last batch, and report what was not believed."""
        if self._candidate is not None:
            is_past = self._candidate[0] <= self._newest_epoch
            self._decide(is_confirmed=is_past or not self._known)
        if self._ignored:
            epoch, offset = self._ignored[0]
            others = len(self._ignored) - 1
            LogLines(_log, self._directory).warning(
                "the batch at offset %d says leader epoch %d, which the epoch file"
                " and its neighbours do not confirm: ignored%s",
                offset,
                epoch,
                f", as that of {others} others" if others else "",
            )

    def _decide(self, is_confirmed: bool) -> None:
        assert self._candidate is not None
        if is_confirmed:
            self._epochs.assign(*self._candidate)
        else:
            self._ignored.append(self._candidate)
        self._candidate = None


def rebuild_epochs(
    directory: Path, epochs: LeaderEpochs, segments: LogSegments
) -> None:
    """Find the epochs of a log whose file is gone, from the headers of its batches.

    Only the segments in which the epoch changes are walked through.
    """
    recovery = EpochRecovery(directory, epochs)
    for segment in segments:
        first = _first_header(segment)
        after = _first_header(segments.higher(segment.base_offset))
        if first is None:
            continue
        if after and after.partition_leader_epoch == first.partition_leader_epoch:
            recovery.take(first)
            continue
        for header in _headers(segment):
            recovery.take(header)
    recovery.finish()


def _first_header(segment: LogSegment | None) -> BatchHeader | None:
    return None if segment is None else next(_headers(segment), None)


def _headers(segment: LogSegment) -> Iterator[BatchHeader]:
    base_offset, end = segment.base_offset, segment.reader.end
    known = end.offset, end.limit - base_offset - 1, segment.indexes.has_gaps
    expected = Expected(None, *known)
    for _, header, _ in BatchScan(segment.log, 0, base_offset, False, expected):
        yield header
