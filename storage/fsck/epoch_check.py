"""The leader epochs in the file against those in the batches."""

from collections.abc import Sequence

from odradek.protocol.record_batch import NO_LEADER_EPOCH, BatchHeader
from odradek.storage.files.checkpoints import EPOCHS_NAME
from odradek.storage.formats.checkpoint import EpochEntry

from .known import Known
from .report import Findings, Place, Severity
from .watcher import Watcher

_CODE = "epochs"


class EpochCheck(Watcher):
    """Looks up every batch in the entries. ``entries`` None: there is no file."""

    def __init__(
        self,
        entries: Sequence[EpochEntry] | None,
        log_start_offset: int,
        known: Known,
        findings: Findings,
    ) -> None:
        self._entries = entries or ()
        self._has_file = entries is not None
        self._log_start_offset = log_start_offset
        self._known = known
        self._findings = findings
        self._at = -1  # the entry that covers the last batch
        self._told: tuple[int, int | None] | None = None
        self._check_order()

    def on_batch(self, position: int, header: BatchHeader, batch: memoryview) -> None:
        """Compare the epoch of the batch."""
        if header.last_offset < self._log_start_offset:
            return
        epoch = header.partition_leader_epoch
        expected = self._epoch_at(max(header.base_offset, self._log_start_offset))
        if epoch in (expected, NO_LEADER_EPOCH) or not self._has_file:
            return
        if self._told == (epoch, expected):  # said of the batch before
            return
        self._told = (epoch, expected)
        severity = Severity.NOTE
        if expected is not None or self._known.is_durable(header.base_offset):
            severity = Severity.DAMAGE
        says = "no epoch" if expected is None else f"epoch {expected}"
        self._findings.add(
            severity,
            _CODE,
            EPOCHS_NAME,
            f"says {says} at offset {header.base_offset}, where a batch has {epoch}",
            Place(None, None, header.base_offset, header.last_offset),
        )

    def finish(self, log_end_offset: int) -> None:
        """Say which epochs begin behind the end of the log."""
        for epoch, start_offset in self._entries:
            if start_offset > log_end_offset:
                self._findings.add(
                    Severity.DAMAGE if self._known.was_clean else Severity.NOTE,
                    _CODE,
                    EPOCHS_NAME,
                    f"epoch {epoch} begins at {start_offset}, behind the end of the"
                    f" log at {log_end_offset}",
                )

    def _epoch_at(self, offset: int) -> int | None:
        entries = self._entries
        while (
            self._at + 1 < len(entries) and entries[self._at + 1].start_offset <= offset
        ):
            self._at += 1
        return entries[self._at].epoch if self._at >= 0 else None

    def _check_order(self) -> None:
        for one, other in zip(self._entries, self._entries[1:], strict=False):
            if other.epoch <= one.epoch or other.start_offset <= one.start_offset:
                message = (
                    f"epoch {other.epoch} from {other.start_offset} on follows"
                    f" epoch {one.epoch} from {one.start_offset} on"
                )
                self._findings.damage(_CODE, EPOCHS_NAME, message)
