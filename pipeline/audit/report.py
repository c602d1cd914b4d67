"""The report of an audit: a table for people, and Parquet files for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .span import codec_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .audit import Audit, PartitionAudit

_HEADS = (
    "PARTITION",
    "SEGMENTS",
    "BATCHES",
    "RECORDS",
    "BYTES",
    "OFFSETS",
    "MISSING",
    "CODECS",
    "PRODUCERS",
    "DAMAGE",
)
_LEFT = ("PARTITION", "OFFSETS", "CODECS")
_FINDINGS_SHOWN = 50


def render(audit: Audit) -> Iterator[str]:
    """The lines of the table, of what was found, and of the sums."""
    rows = [_HEADS, *map(_row, audit.partitions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(
            cell.ljust(width) if head in _LEFT else cell.rjust(width)
            for cell, width, head in zip(row, widths, _HEADS, strict=True)
        ).rstrip()
    for finding in audit.findings[:_FINDINGS_SHOWN]:
        yield str(finding)
    if (left := len(audit.findings) - _FINDINGS_SHOWN) > 0:
        yield f"... and {left} more; --report writes them all"
    damages = sum(finding.is_damage for finding in audit.findings)
    yield (
        f"total: {_count(len(audit.partitions))},"
        f" {_total(audit.partitions, 'batches')} batches,"
        f" {_total(audit.partitions, 'records')} records,"
        f" {_total(audit.partitions, 'size')} bytes:"
        f" {f'DAMAGED, {damages} found' if damages else 'sound'}"
    )


def as_json(audit: Audit) -> Iterator[dict[str, Any]]:
    """An object for each finding, all of them, and at the end one of the sums."""
    for each in audit.findings:
        yield {
            "topic": each.topic,
            "partition": each.partition,
            "isDamage": each.is_damage,
            "segment": each.segment,
            "position": each.position,
            "end": each.end,
            "nextOffset": each.next_offset,
            "message": each.message,
        }
    yield {
        "isSound": audit.is_sound,
        "partitions": len(audit.partitions),
        "batches": sum(each.batches for each in audit.partitions),
        "records": sum(each.records for each in audit.partitions),
        "bytes": sum(each.size for each in audit.partitions),
        "damages": sum(finding.is_damage for finding in audit.findings),
    }


def _count(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions:,} partitions"


def _total(partitions: Sequence[PartitionAudit], name: str) -> str:
    return f"{sum(getattr(each, name) for each in partitions):,}"


def _row(each: PartitionAudit) -> tuple[str, ...]:
    offsets = f"{each.base_offset} to {each.next_offset - 1}"
    return (
        f"{each.topic}-{each.partition}",
        f"{each.segments:,}",
        f"{each.batches:,}",
        f"{each.records:,}",
        f"{each.size:,}",
        offsets if each.batches else "-",
        f"{each.missing_offsets + each.missing_records:,}",
        " ".join(codec_counts(each.codecs)) or "-",
        f"{each.producers:,}",
        f"{each.damages:,}",
    )


def write_report(audit: Audit, folder: Path) -> list[Path]:
    """Write ``partitions``, ``segments`` and ``findings`` as Parquet; which files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    now = datetime.now(UTC)
    tables = {
        "partitions": ([_fields(each) for each in audit.partitions], _PARTITIONS),
        "segments": ([_fields(each) for each in audit.spans], _SPANS),
        "findings": ([each._asdict() for each in audit.findings], _FINDINGS),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (rows, types) in tables.items():
        schema = pa.schema(
            [(column, pa.type_for_alias(kind)) for column, kind in types.items()]
            + [("audited_at", pa.timestamp("us", tz="UTC"))]
        )
        rows = [{**row, "audited_at": now} for row in rows]
        path = folder / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema), path, compression="zstd")
        written.append(path)
    return written


def _fields(sums: Any) -> dict[str, Any]:
    row: dict[str, Any] = sums._asdict()
    for name in ("none", "gzip", "snappy", "lz4", "zstd"):
        row[f"{name}_batches"] = codec_counts(sums.codecs).get(name, 0)
    if not isinstance(row["producers"], int):
        row["producers"] = len(row["producers"])
    if not isinstance(row["damages"], int):
        row["damages"] = len(row["damages"])
    return row


_SUMS = {
    "batches": "int64",
    "records": "int64",
    "base_offset": "int64",
    "next_offset": "int64",
    "missing_offsets": "int64",
    "missing_records": "int64",
    "max_timestamp": "int64",
    "none_batches": "int64",
    "gzip_batches": "int64",
    "snappy_batches": "int64",
    "lz4_batches": "int64",
    "zstd_batches": "int64",
    "transactional_batches": "int64",
    "control_batches": "int64",
    "producers": "int64",
    "damages": "int64",
}
_PLACE = {"topic": "string", "partition": "int32"}
_PARTITIONS = {**_PLACE, "segments": "int64", "size": "int64", **_SUMS}
_SPANS = {**_PLACE, "segment": "int64", "position": "int64", "end": "int64", **_SUMS}
_FINDINGS = {
    **_PLACE,
    "is_damage": "bool",
    "segment": "int64",
    "position": "int64",
    "end": "int64",
    "next_offset": "int64",
    "message": "string",
}
