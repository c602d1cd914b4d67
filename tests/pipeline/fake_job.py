"""A job without Spark or a broker: files of numbers, and drivers that die on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.pipeline.jobs.job_committer import JobCommitter, JobTables, Step, Written
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.pipeline.tables.places.task_file import as_told, new_task_file
from odradek.pipeline.tables.table import DataFile, Table
from odradek.pipeline.values.dead_letters import dead_letter_schema
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.pipeline.tables.places.place import StagingFolder

JOB = "job-a"
PLACE = TopicPartition("t", 0)
SCHEMA = pa.schema([("n", pa.int64()), ("_offset", pa.int64())])
RECORDS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
LETTERS = dead_letter_schema(RECORDS)


class DriverDied(BaseException):
    """As after kill -9: nothing of the process runs any more."""


class FakeLog:
    """A log whose offsets mean what they always meant."""

    def confirm(
        self, last: Commit | None, planned: Sequence[OffsetRange]
    ) -> tuple[CommittedRange, ...]:
        return tuple(CommittedRange(*each, "id", 0) for each in planned)


def dying_at(step: Step | None) -> Callable[[Step], None]:
    def at_step(reached: Step) -> None:
        if reached is step:
            raise DriverDied(step)

    return at_step


def driver(
    table: Table,
    dead: Table | None = None,
    dies_at: Step | None = None,
    job: str = JOB,
) -> JobCommitter:
    return JobCommitter(
        job,
        JobTables(table, dead),
        FakeLog(),
        at_step=dying_at(dies_at),
        now_ms=lambda: 0,
    )


def range_of(batch: int, count: int = 10) -> list[OffsetRange]:
    return [OffsetRange(*PLACE, batch * count, (batch + 1) * count)]


def writer(
    planned: Sequence[OffsetRange], file_count: int = 2
) -> Callable[[StagingFolder, StagingFolder | None], Written]:
    """Writes the offsets of the range; each that ends with 7 is a dead letter."""

    def write(staging: StagingFolder, dead_staging: StagingFolder | None) -> Written:
        offsets = [n for each in planned for n in range(each.start, each.end)]
        good = [n for n in offsets if n % 10 != 7 or dead_staging is None]
        files = []
        for number in range(file_count):
            part = good[number::file_count]
            rows = pa.table({"n": part, "_offset": part}, schema=SCHEMA)
            files.append(_file(staging, rows))
        bad = [n for n in offsets if n not in good]
        letters = []
        if bad and dead_staging:
            letters.append(_file(dead_staging, _letters(bad)))
        seen = {PLACE: (min(offsets), max(offsets))} if offsets else {}
        return Written(files, letters, len(good), len(bad), seen, "bad")

    return write


def _letters(offsets: list[int]) -> pa.Table:
    rows = [
        {"topic": "t", "partition": 0, "offset": n, "value": b"?", "reason": "bad"}
        for n in offsets
    ]
    return pa.Table.from_pylist(rows, schema=LETTERS)


def _file(folder: StagingFolder, rows: pa.Table) -> DataFile:
    made = new_task_file(as_told(folder))
    pq.write_table(rows, made.sink)
    path, size = made.finish()
    return DataFile(path, rows.num_rows, size)


def run_batches(
    made: Callable[[], tuple[Table, Table | None]],
    batches: range,
    dies_at: Step | None = None,
    dies_in: int | None = None,
) -> None:
    """Run batches, the driver dying in one of them, and its successor going on."""
    for batch in batches:
        for step in (dies_at, None) if batch == dies_in else (None,):
            table, dead = made()
            try:
                with_driver(table, dead, batch, step)
            except DriverDied:
                continue
            finally:
                for each in (table, dead):
                    if each:
                        each.close()


def with_driver(
    table: Table, dead: Table | None, batch: int, step: Step | None
) -> Commit | None:
    table.create(SCHEMA)
    if dead:
        dead.create(LETTERS)
    committer = driver(table, dead, step)
    committer.recover()
    planned = range_of(batch)
    return committer.run(batch, planned, writer(planned))
