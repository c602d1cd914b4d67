"""Rows of some kinds and days, committed to a partitioned table without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from odradek.pipeline.jobs.row_files import RowFiles, Shape
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.partitions.partitioning import (
    Partitioning,
    read_partitioning,
)
from odradek.pipeline.tables.places.task_file import as_told
from odradek.pipeline.tables.table import DataFile, Table, open_table
from tests.pipeline.fake_job import JOB

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("n", pa.int64()),
        ("_timestamp", pa.timestamp("us", "UTC")),
    ]
)
BY = ("kind", "days(_timestamp)")
KINDS = ["007", "a/b", None]
FIRST = datetime(2026, 1, 31, 12, tzinfo=UTC)


def by(kind: str, *fields: str) -> Partitioning:
    return read_partitioning("", fields or BY, kind)


def made(batch: int, kinds: Sequence[str | None] = KINDS, count: int = 12) -> pa.Table:
    numbers = range(batch * count, (batch + 1) * count)
    return pa.Table.from_pylist([row(number, kinds) for number in numbers], SCHEMA)


def row(number: int, kinds: Sequence[str | None] = KINDS) -> dict[str, object]:
    """Of one of the kinds, and of one of two days."""
    day = FIRST + timedelta(days=number % 2)
    return {"kind": kinds[number % len(kinds)], "n": number, "_timestamp": day}


def commit_batch(
    table: Table, kind: str, batch: int, kinds: Sequence[str | None] = KINDS
) -> Commit:
    """One batch of six partitions, not yet published."""
    staging = table.staging(batch)
    files = RowFiles(as_told(staging), Shape(partitioning=by(kind)))
    for rows in made(batch, kinds).to_batches():
        files.write(rows)
    written = [
        DataFile(e["path"], e["rows"], e["size"], e["partition_path"])
        for e in files.finish()
    ]
    commit = Commit(JOB, batch, (), row_count=12, staged=staging.name)
    table.commit(commit, written)
    return commit


def filled(kind: str, folder: Path, batches: int = 2) -> Table:
    """The table, which somebody has to close."""
    table = open_table(kind, str(folder), JOB)
    table.create(SCHEMA, partitioning=by(kind))
    for batch in range(batches):
        table.publish(commit_batch(table, kind, batch))
    return table
