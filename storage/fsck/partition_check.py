"""A partition's directory: every file in it, and whether the files agree."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.checkpoints import EPOCHS_NAME, read_epochs
from odradek.storage.files.file_system import File, Files
from odradek.storage.files.partition_metadata import (
    PARTITION_METADATA_NAME,
    BadPartitionMetadata,
    read_partition_metadata,
)
from odradek.storage.formats.checkpoint import CheckpointError, EpochEntry
from odradek.storage.formats.quarantine_entry import QuarantineEntry, parse_quarantine
from odradek.storage.values.file_names import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    segment_path,
)

from .epoch_check import EpochCheck
from .index_check import OffsetIndexCheck, TimeIndexCheck
from .known import Known
from .listing import Listing, list_partition
from .report import Place, Report, Severity
from .segment_check import Segment, SegmentCheck, SegmentEnd
from .snapshot_check import check_snapshots
from .transaction_check import TransactionCheck
from .watcher import Watcher

QUARANTINE_NAME: Final = "quarantine"


class PartitionCheck:
    """Checks one directory; `run` does it all."""

    def __init__(
        self, files: Files, directory: Path, known: Known, reads_records: bool
    ) -> None:
        self._files = files
        self._directory = directory
        self._known = known
        self.report = Report(directory, "partition")
        self._findings = self.report.findings
        self._segment_check = SegmentCheck(known, self.report, reads_records)
        self._quarantine: list[QuarantineEntry] = []
        self._ends: list[tuple[int, SegmentEnd]] = []

    def run(self) -> Report:
        """What was found. Raises nothing for what the files hold."""
        try:
            listing = list_partition(self._files.listdir(self._directory))
        except (OSError, KafkaStorageError) as error:
            self._findings.damage("unreadable", "", f"cannot be listed: {error}")
            return self.report
        listing.tell(self._findings, self._known)
        self._quarantine = self._read_quarantine()
        self._check_segments(listing)
        self._check_holes()
        self._check_end()
        check_snapshots(
            self._files, self._directory, listing.snapshots, self.report, self._known
        )
        self._check_identity()
        return self.report

    def _check_segments(self, listing: Listing) -> None:
        bases = listing.logs
        first = bases[0] if bases else 0
        self.report.log_start_offset = max(first, self._known.log_start_offset or 0)
        epochs = EpochCheck(
            self._read_epochs(),
            self.report.log_start_offset,
            self._known,
            self._findings,
        )
        transactions = TransactionCheck(self._known, self._findings)
        for number, base in enumerate(bases):
            next_base = bases[number + 1] if number + 1 < len(bases) else None
            entries = [one for one in self._quarantine if one.segment_base == base]
            segment = Segment(base, next_base, entries)
            self._check_segment(segment, [epochs, transactions], transactions)
        if self._ends:
            self.report.log_end_offset = self._ends[-1][1].next_offset
        for entry in self._quarantine:
            self.report.log_end_offset = max(
                self.report.log_end_offset, entry.last_offset + 1
            )
        epochs.finish(self.report.log_end_offset)

    def _check_segment(
        self,
        segment: Segment,
        watchers: list[Watcher],
        transactions: TransactionCheck,
    ) -> None:
        base = segment.base_offset
        opened: list[File] = []
        try:
            log = self._files.open(self._path(base, LOG))
            opened.append(log)
            watchers += self._index_checks(segment, opened)
            path = self._path(base, TRANSACTION_INDEX)
            txnindex = self._files.open(path) if self._files.exists(path) else None
            opened += [txnindex] if txnindex is not None else []
            transactions.begin(path.name, txnindex)
            self._ends.append((base, self._segment_check.run(log, segment, watchers)))
        except FileNotFoundError:  # retention of a running broker
            name = self._path(base, LOG).name
            self._findings.note("gone", name, "was deleted while it was to be read")
        except (OSError, KafkaStorageError) as error:
            name = self._path(base, LOG).name
            self._findings.damage("unreadable", name, f"cannot be read: {error}")
        finally:
            for file in opened:
                file.close()

    def _index_checks(self, segment: Segment, opened: list[File]) -> Iterator[Watcher]:
        base, is_sealed = segment.base_offset, segment.next_base is not None
        is_closed = is_sealed or self._known.was_clean
        for kind in (OFFSET_INDEX, TIME_INDEX):
            path = self._path(base, kind)
            if not self._files.exists(path):
                severity = Severity.DAMAGE if is_closed else Severity.NOTE
                message = "is missing; the next start writes it anew"
                self._findings.add(severity, "index", path.name, message)
                continue
            index = self._files.open(path)
            opened.append(index)
            if kind == OFFSET_INDEX:
                yield OffsetIndexCheck(index, base, is_closed, self._findings)
            else:
                yield TimeIndexCheck(index, base, is_sealed, self._findings)

    def _check_holes(self) -> None:
        looks_compacted = any(end.looks_compacted for _, end in self._ends)
        for (_, end), (base, _) in zip(self._ends, self._ends[1:], strict=False):
            start = end.next_offset
            if start >= base or end.ends_in_damage or self._known.is_compacted:
                continue
            if any(
                one.base_offset <= start and one.last_offset >= base - 1
                for one in self._quarantine
            ):
                continue
            is_hole = self._known.is_compacted is False
            explains = looks_compacted and not is_hole
            self._findings.add(
                Severity.NOTE if explains else Severity.DAMAGE,
                "hole" if is_hole else "gap",
                self._path(base, LOG).name,
                f"offsets {start} to {base - 1} are in no segment"
                + ("; compaction may explain it" if explains else ""),
                Place(None, None, start, base - 1),
            )

    def _check_end(self) -> None:
        end, known = self.report.log_end_offset, self._known
        if known.recovery_point is not None and known.recovery_point > end:
            self._findings.damage(
                "recovery-point",
                "",
                f"was durable up to offset {known.recovery_point}, and ends at {end}",
                Place(None, None, end, known.recovery_point - 1),
            )
        elif known.was_clean and known.recovery_point not in (None, end):
            message = f"ends at {end}, and was closed at {known.recovery_point}"
            self._findings.note("recovery-point", "", message)
        if known.log_start_offset is not None and known.log_start_offset > end:
            message = f"starts at {known.log_start_offset}, and ends at {end}"
            self._findings.damage("log-start", "", message)
        high_watermark = known.high_watermark
        if high_watermark is not None and high_watermark > end:
            severity = Severity.DAMAGE if known.was_clean else Severity.NOTE
            message = f"the high watermark was {high_watermark}, the log ends at {end}"
            self._findings.add(severity, "high-watermark", "", message)

    def _check_identity(self) -> None:
        name = PARTITION_METADATA_NAME
        try:
            topic_id = read_partition_metadata(self._files, self._directory)
        except BadPartitionMetadata as error:
            self._findings.damage("identity", name, str(error))
            return
        except (OSError, KafkaStorageError) as error:
            self._findings.damage("unreadable", name, f"cannot be read: {error}")
            return
        if topic_id is None:
            severity = Severity.DAMAGE if self.report.batches else Severity.NOTE
            self._findings.add(severity, "identity", name, "is missing")
        elif self._known.topic_id not in (None, topic_id):
            message = "names another topic id than the catalogue"
            self._findings.damage("identity", name, message)

    def _read_epochs(self) -> list[EpochEntry] | None:
        if not self._files.exists(self._directory / EPOCHS_NAME):
            is_durable = self._known.is_durable(0)
            severity = Severity.DAMAGE if is_durable else Severity.NOTE
            self._findings.add(severity, "epochs", EPOCHS_NAME, "is missing")
            return None
        try:
            return read_epochs(self._files, self._directory)
        except (CheckpointError, OSError, KafkaStorageError) as error:
            self._findings.damage("epochs", EPOCHS_NAME, f"cannot be read: {error}")
            return None

    def _read_quarantine(self) -> list[QuarantineEntry]:
        path = self._directory / QUARANTINE_NAME
        try:
            entries = parse_quarantine(self._files.read_bytes(path).decode())
        except FileNotFoundError:
            return []
        except (ValueError, OSError, KafkaStorageError) as error:
            message = f"cannot be read: {error}"
            self._findings.damage("quarantine", QUARANTINE_NAME, message)
            return []
        for one in entries:
            self._findings.damage(
                "quarantined",
                self._path(one.segment_base, LOG).name,
                one.reason,
                Place(one.start, one.end, one.base_offset, one.last_offset),
            )
        return entries

    def _path(self, base_offset: int, kind: str) -> Path:
        return segment_path(self._directory, base_offset, kind)
