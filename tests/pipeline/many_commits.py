"""A table that is committed to for years: the real committer, and small batches."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from odradek.pipeline.jobs.job_committer import Written
from odradek.pipeline.tables.compaction.compaction import compact, keep_snapshots
from odradek.pipeline.tables.compaction.removed_files import remove_old_files
from odradek.pipeline.tables.table import DataFile, Table, open_table
from tests.pipeline.fake_job import JOB, PLACE, SCHEMA, driver, range_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = 10
_IO = Path("/proc/self/io")


class Cost(NamedTuple):
    """What a batch took; ``moved`` are the bytes that were read and written."""

    batch: int
    wall_s: float
    cpu_s: float
    moved: int


def commits(
    kind: str, folder: Path, count: int, compact_every: int, kept: str = ""
) -> Iterator[Cost]:
    """Commit batches as one driver does, with its upkeep between them.

    A Delta table keeps the entries of its log for ``kept``, like ``1 minutes``, and the
    names of files that were removed; an Iceberg table its last 50 snapshots. Without it
    these are 30 days, a week, and 500.
    """
    table = open_table(kind, str(folder), JOB)
    with closing(table):
        table.create(SCHEMA)
        if kept:
            bound(kind, folder, kept)
        committer = driver(table)
        committer.recover()
        for batch in range(count):
            if batch and batch % compact_every == 0:
                tend(folder)
            before = _now()
            committer.run(batch, range_of(batch, ROWS), _writer(batch))
            yield _since(batch, before)


def bound(kind: str, folder: Path, kept: str) -> None:
    """Let a table keep less of its history than is usual."""
    if kind == "iceberg":
        keep_snapshots(str(folder), 50, {})
    elif kind == "delta":
        properties = {
            "delta.logRetentionDuration": f"interval {kept}",
            "delta.deletedFileRetentionDuration": f"interval {kept}",
            "delta.checkpointInterval": "50",
        }
        DeltaTable(folder).alter.set_table_properties(properties)


def tend(folder: Path) -> None:
    """What a sink does with `compact_every`, and nobody reads meanwhile."""
    compact(str(folder), is_ours=True)
    remove_old_files(str(folder), {}, time.time() - 3600)


def rows_in(table: Table) -> int:
    """The rows of all files that the table names."""
    return sum(pq.read_metadata(path).num_rows for path in table.files())


def _writer(batch: int) -> Callable[[Path, Path | None], Written]:
    numbers = range(batch * ROWS, (batch + 1) * ROWS)

    def write(staging: Path, _: Path | None) -> Written:
        path = staging / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(pa.table([numbers, numbers], schema=SCHEMA), path)
        file = DataFile(str(path), ROWS, path.stat().st_size)
        return Written([file], [], ROWS, 0, {PLACE: (numbers[0], numbers[-1])})

    return write


def _now() -> Cost:
    return Cost(0, time.perf_counter(), time.process_time(), _moved())


def _since(batch: int, before: Cost) -> Cost:
    now = _now()
    return Cost(
        batch,
        now.wall_s - before.wall_s,
        now.cpu_s - before.cpu_s,
        now.moved - before.moved,
    )


def _moved() -> int:
    """By system calls of this process, whether a disk saw it or not."""
    if not os.path.exists(_IO):
        return 0
    said = dict(line.split(": ") for line in _IO.read_text().splitlines())
    return int(said["rchar"]) + int(said["wchar"])
