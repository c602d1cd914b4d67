"""A job that keeps the last value of each key, without Spark or a broker."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from odradek.pipeline.jobs.batch_writer import BatchWriter, folders, read_reports
from odradek.pipeline.jobs.job_committer import JobCommitter, JobTables, Step, Written
from odradek.pipeline.jobs.row_files import Shape
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables.partitions.partitioning import read_partitioning
from odradek.pipeline.tables.table import Table, open_table, open_upserts
from odradek.pipeline.tables.upserts.last_rows import KeyColumns
from odradek.pipeline.values.decoding import ValueFormat
from odradek.pipeline.values.upsert_rows import UpsertMaker
from tests.pipeline.fake_job import JOB, RECORDS, DriverDied, FakeLog, dying_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.places.place import StagingFolder
    from odradek.pipeline.tables.table import DataFile

HOW = ValueFormat("json", schema="id BIGINT NOT NULL, text STRING")


class Change(NamedTuple):
    """A record: the value is None where the key goes, and no JSON where it is bad."""

    key: bytes | None
    value: bytes | None
    partition: int = 0
    timestamp: int = 0


def put(key: bytes, number: int, partition: int = 0, timestamp: int = 0) -> Change:
    value = json.dumps({"id": number, "text": f"t{number}"}).encode()
    return Change(key, value, partition, timestamp)


class UpsertJob:
    """The job, whose driver may die in a batch; its tables are in a folder."""

    def __init__(self, folder: Path, kind: str, by: Sequence[str] = ()) -> None:
        self._partitioning = read_partitioning("", by, kind)
        self.table, self.letters = folder / "t", folder / "dead"
        self._kind = kind
        self._batch = 0
        self._ends: dict[int, int] = {}

    def _open(self) -> tuple[Table, Table]:
        location = str(self.table)
        table = open_upserts(self._kind, location, JOB, KeyColumns.of("_"))
        return table, open_table(self._kind, str(self.letters), JOB)

    def run(self, changes: Sequence[Change], dies_at: Step | None = None) -> None:
        """One batch; when the driver dies in it, another one does it again."""
        planned, records = self._plan(changes)
        for step in (dies_at, None) if dies_at is not None else (None,):
            table, letters = self._open()
            try:
                self._run(table, letters, planned, records, step)
            except DriverDied:
                continue
            finally:
                table.close()
                letters.close()
        self._batch += 1
        self._ends |= {each.partition: each.end for each in planned}

    def staged(self, changes: Sequence[Change]) -> Callable[[], None]:
        """All of a batch has been done, but its commit: that is what is returned."""
        planned, records = self._plan(changes)
        table, letters = self._open()
        waiting: list[Callable[[], None]] = []

        def commit() -> None:
            waiting[0]()

        real = table.commit

        def hold(commit: Commit, files: list[DataFile]) -> None:
            waiting.append(lambda: real(commit, files))
            raise DriverDied

        table.commit = hold  # type: ignore[method-assign]
        with contextlib.suppress(DriverDied):
            self._run(table, letters, planned, records, None)
        return commit

    def _run(
        self,
        table: Table,
        letters: Table,
        planned: list[OffsetRange],
        records: pa.RecordBatch,
        step: Step | None,
    ) -> None:
        maker = UpsertMaker(HOW, RECORDS)
        columns = [name for name in maker.schema.names if name != "__deleted"]
        schema = pa.schema([maker.schema.field(name) for name in columns])
        table.create(schema, partitioning=self._partitioning)
        letters.create(maker.dead_schema)

        def write(
            staging: StagingFolder, dead_staging: StagingFolder | None
        ) -> Written:
            places = folders(staging, dead_staging)
            half = len(records) // 2  # as two tasks would
            reports = []
            for part in (records.slice(half), records.slice(0, half)):
                shape = Shape(partitioning=self._partitioning)
                made = BatchWriter(HOW, *places, shape, upserts=True)
                reports += made.write_rows([part])
            return read_reports(reports)

        committer = JobCommitter(
            JOB,
            JobTables(table, letters),
            FakeLog(),
            at_step=dying_at(step),
            now_ms=lambda: 0,
        )
        committer.recover()
        committer.run(self._batch, planned, write)

    def _plan(
        self, changes: Sequence[Change]
    ) -> tuple[list[OffsetRange], pa.RecordBatch]:
        ends, rows = dict(self._ends), []
        for change in changes:
            offset = ends.get(change.partition, 0)
            ends[change.partition] = offset + 1
            rows.append(
                {
                    "topic": "t",
                    "partition": change.partition,
                    "offset": offset,
                    "timestamp": change.timestamp,
                    "key": change.key,
                    "value": change.value,
                }
            )
        planned = [
            OffsetRange("t", partition, self._ends.get(partition, 0), end)
            for partition, end in sorted(ends.items())
        ]
        return planned, pa.RecordBatch.from_pylist(rows, schema=RECORDS)
