"""Directories of Apache Kafka in memory, and what fsck says of them."""

from pathlib import Path

from odradek.storage.files.read_only_files import ReadOnlyFiles
from odradek.storage.fsck.directory_check import DirectoryCheck
from odradek.storage.fsck.report import Report, Severity
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
ROOT = Path("/data")


def cases() -> list[str]:
    return sorted(path.parent.name for path in GOLDEN.glob("*/expected.json"))


def loaded(case: str) -> FakeFiles:
    files = FakeFiles()
    files.copy_in(GOLDEN / case / "log-dir", ROOT)
    return files


def reports(files: FakeFiles | ReadOnlyFiles, path: Path = ROOT) -> list[Report]:
    check = DirectoryCheck(files, path, reads_records=True)
    check.prepare()
    return list(check.run())


def codes(
    found: list[Report], severity: Severity | None = None, *, leftovers: bool = False
) -> set[str]:
    """The sorts of findings; leftovers only when asked for."""
    return {
        finding.code
        for report in found
        for finding in report.findings
        if severity in (None, finding.severity)
        and (leftovers or finding.code != "leftover")
    }


def messages(found: list[Report]) -> list[str]:
    return [
        f"{finding.file}: {finding.message}"
        for report in found
        for finding in report.findings
    ]
