"""The producer snapshots of a partition: readable, and not ahead of the log."""

from collections.abc import Sequence
from pathlib import Path

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.dump.row import RowKind
from odradek.storage.dump.snapshot_dump import dump_snapshot
from odradek.storage.files.file_system import Files
from odradek.storage.producers.snapshot import snapshot_path

from .known import Known
from .report import Place, Report, Severity

_CODE = "snapshot"


def check_snapshots(
    files: Files,
    directory: Path,
    offsets: Sequence[int],
    report: Report,
    known: Known,
) -> None:
    """Report what is wrong with the snapshots at ``offsets``."""
    findings = report.findings
    for offset in offsets:
        path = snapshot_path(directory, offset)
        if offset > report.log_end_offset:
            message = f"behind the end of the log at {report.log_end_offset}"
            findings.note(_CODE, path.name, message)
        # The newest ones may not have been synced when the machine stopped.
        is_durable = known.was_clean or offset <= (known.recovery_point or 0)
        severity = Severity.DAMAGE if is_durable else Severity.NOTE
        try:
            snapshot = files.open(path)
            for row in dump_snapshot(snapshot):
                fields = row.fields
                last_offset = fields.get("lastOffset", -1)
                if row.kind is RowKind.DAMAGE:
                    message = f"{fields['reason']}; an older one is used"
                    findings.add(severity, _CODE, path.name, message, Place(0))
                elif isinstance(last_offset, int) and last_offset >= offset:
                    message = (
                        f"producer {fields['producerId']} is at offset {last_offset}"
                    )
                    findings.add(severity, _CODE, path.name, message)
            snapshot.close()
        except (OSError, KafkaStorageError) as error:
            findings.damage("unreadable", path.name, f"cannot be read: {error}")
