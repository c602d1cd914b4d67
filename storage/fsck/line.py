"""Reports as lines: text for people, JSON for programs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from .report import Finding, Report, Severity


@dataclass
class Total:
    """The sums of all reports."""

    partitions: int = 0
    segments: int = 0
    size: int = 0
    batches: int = 0
    records: int = 0
    damage: int = 0
    notes: int = 0

    def add(self, report: Report) -> None:
        """Take a report in."""
        self.partitions += report.kind == "partition"
        self.segments += report.segments
        self.size += report.size
        self.batches += report.batches
        self.records += report.records
        self.damage += report.findings.count(Severity.DAMAGE)
        self.notes += report.findings.count(Severity.NOTE)


def text_lines(report: Report) -> Iterator[str]:
    """A line of sums, and one for each finding."""
    found = _counts(
        report.findings.count(Severity.DAMAGE), report.findings.count(Severity.NOTE)
    )
    if report.kind == "partition":
        yield (
            f"{report.path}: {_amounts(report)}, offsets {report.log_start_offset} to"
            f" {report.log_end_offset}: {found}"
        )
    else:
        yield f"{report.path}: {report.kind}: {found}"
    for finding in report.findings:
        word = "DAMAGE" if finding.severity is Severity.DAMAGE else "note"
        yield f"  {word} {_where(finding)}{finding.message} [{finding.code}]"


def json_line(report: Report) -> str:
    """The report as one object."""
    return json.dumps(
        {
            "type": report.kind,
            "path": str(report.path),
            **(_json_sums(report) if report.kind == "partition" else {}),
            "damage": report.findings.count(Severity.DAMAGE),
            "notes": report.findings.count(Severity.NOTE),
            "findings": [_json_finding(finding) for finding in report.findings],
        }
    )


def total_text(total: Total) -> str:
    """The last line."""
    return (
        f"total: {_many(total.partitions, 'partition')}, {_amounts(total)}:"
        f" {_counts(total.damage, total.notes)}"
    )


def total_json(total: Total) -> str:
    """The last object."""
    return json.dumps({"type": "total", **vars(total)})


def _amounts(sums: Report | Total) -> str:
    return (
        f"{_many(sums.segments, 'segment')}, {_many(sums.size, 'byte')},"
        f" {_many(sums.batches, 'batch', 'batches')}, {_many(sums.records, 'record')}"
    )


def _many(count: int, one: str, more: str | None = None) -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _counts(damage: int, notes: int) -> str:
    noted = f"{_many(notes, 'note')}" if notes else ""
    if not damage:
        return f"sound, {noted}" if noted else "sound"
    return f"DAMAGED, {damage} found" + (f", {noted}" if noted else "")


def _where(finding: Finding) -> str:
    place = finding.place
    parts = [finding.file] if finding.file else []
    if place.position is not None and place.end is not None:
        parts.append(f"bytes {place.position} to {place.end}")
    if place.base_offset is not None:
        last = place.last_offset
        is_one = last is None or last == place.base_offset
        parts.append(
            f"offset {place.base_offset}"
            if is_one
            else f"offsets {place.base_offset} to {last}"
        )
    return ", ".join(parts) + ": " if parts else ""


def _json_sums(report: Report) -> dict[str, object]:
    return {
        "segments": report.segments,
        "size": report.size,
        "batches": report.batches,
        "records": report.records,
        "logStartOffset": report.log_start_offset,
        "logEndOffset": report.log_end_offset,
    }


def _json_finding(finding: Finding) -> dict[str, object]:
    place = finding.place
    fields = {
        "severity": finding.severity.value,
        "code": finding.code,
        "file": finding.file or None,
        "position": place.position,
        "end": place.end,
        "baseOffset": place.base_offset,
        "lastOffset": place.last_offset,
        "message": finding.message,
    }
    return {name: value for name, value in fields.items() if value is not None}
