"""What a task of a micro-batch does: decode records, and write files of rows.

A task writes to files of its own in the staging folder and reports them; Spark hands
on the reports of successful tasks only, so that what a failed, repeated or
speculative one wrote is in no commit. A file has a temporary name until it is whole.
"""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.records.columns import HEADERS, without_nulls
from odradek.pipeline.security.places import is_task
from odradek.pipeline.tables.evolution import aligned
from odradek.pipeline.tables.table import DataFile, sync
from odradek.pipeline.workers.garbage_collection import freeze_once
from odradek.protocol.topic_partition import TopicPartition

from .job_committer import Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow
    from pyarrow.parquet import ParquetWriter
    from pyspark.sql import DataFrame

    from odradek.pipeline.values.decoding import RowMaker, ValueFormat
    from odradek.pipeline.values.upsert_rows import UpsertMaker

# One row for each file, and one for each partition that a task had records of.
REPORT = (
    "kind string, path string, rows bigint, size bigint, topic string, partition int,"
    " first bigint, last bigint, reason string"
)
_ROWS, _DEAD, _SEEN = "rows", "dead", "seen"
_FILE_SIZE_MAX = 512 << 20
# Rows are gathered up to this many for each row group.
_ROW_GROUP_SIZE = 64 << 20


@dataclass(frozen=True)
class BatchWriter:
    """Writes the records of a micro-batch; goes to the tasks as it is."""

    how: ValueFormat
    staging: str
    dead_staging: str | None
    compression: str = "zstd"
    schema: bytes = b""  # of the table's files, where they have more than the rows
    upserts: bool = False

    def write(self, records: DataFrame) -> Written:
        """Run the tasks, and collect what they wrote."""
        if HEADERS in records.columns:
            records = listed(records)
        reports = records.mapInArrow(self._task, REPORT).collect()
        return read_reports(report.asDict() for report in reports)

    def _task(
        self, batches: Iterable[pyarrow.RecordBatch]
    ) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        freeze_once()
        reports = self.write_rows(map(unlisted, batches))
        if reports:
            yield pa.RecordBatch.from_pylist(reports, schema=_report_schema())

    def write_rows(
        self, batches: Iterable[pyarrow.RecordBatch]
    ) -> list[dict[str, Any]]:
        """The reports of one task."""
        maker, seen = None, _Seen()
        rows = _Files(_ROWS, self.staging, self.compression, self.schema)
        dead = _Files(_DEAD, self.dead_staging, self.compression)
        try:
            for batch in batches:
                if not batch.num_rows:
                    continue
                maker = maker or row_maker(self.how, batch.schema, self.upserts)
                good, bad = maker.make(batch)
                seen.add(batch)
                rows.write(good)
                if bad.num_rows and self.dead_staging is None:
                    raise JobStopped(
                        f"a value cannot be decoded: {_first_reason(bad)}; "
                        "[dead_letters] enabled = true keeps such records in a table "
                        "of their own"
                    )
                dead.write(bad)
        except BaseException:
            rows.abandon()
            dead.abandon()
            raise
        return [*rows.finish(), *dead.finish(), *seen.reports()]


def row_maker(
    how: ValueFormat, records: pyarrow.Schema, upserts: bool
) -> RowMaker | UpsertMaker:
    """What makes rows of records."""
    from odradek.pipeline.values.decoding import RowMaker
    from odradek.pipeline.values.upsert_rows import UpsertMaker

    return UpsertMaker(how, records) if upserts else RowMaker(how, records)


def listed(records: DataFrame) -> DataFrame:
    """No headers are an empty list, on the way into the tasks."""
    headers = without_nulls(records[HEADERS], records.schema[HEADERS].dataType)
    return records.withColumn(HEADERS, headers)


def unlisted(records: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """And null again, as sources have it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = records.schema.get_field_index(HEADERS)
    if place < 0:
        return records
    headers = records.column(place)
    has_none = pc.equal(pc.list_value_length(headers), 0)
    nulled = pc.if_else(has_none, pa.scalar(None, headers.type), headers)
    return records.set_column(place, records.schema.field(place), nulled)


class _Seen:
    """The first and last offset of each partition."""

    def __init__(self) -> None:
        self._offsets: dict[TopicPartition, tuple[int, int]] = {}

    def add(self, batch: pyarrow.RecordBatch) -> None:
        import pyarrow as pa

        columns = ["topic", "partition", "offset"]
        table = pa.Table.from_batches([batch.select(columns)])
        found = table.group_by(["topic", "partition"]).aggregate(
            [("offset", "min"), ("offset", "max")]
        )
        for row in found.to_pylist():
            place = TopicPartition(row["topic"], row["partition"])
            first, last = row["offset_min"], row["offset_max"]
            known = self._offsets.get(place, (first, last))
            self._offsets[place] = min(known[0], first), max(known[1], last)

    def reports(self) -> Iterator[dict[str, Any]]:
        for place, (first, last) in self._offsets.items():
            yield {"kind": _SEEN, **place._asdict(), "first": first, "last": last}


class _Files:
    """The files that a task makes of its rows."""

    def __init__(
        self, kind: str, folder: str | None, compression: str, schema: bytes = b""
    ) -> None:
        self._schema = schema
        self._kind = kind
        self._folder = folder
        self._compression = compression
        self._pending: list[pyarrow.RecordBatch] = []
        self._pending_size = 0
        self._writer: ParquetWriter | None = None
        self._path = ""
        self._row_count = 0
        self._reports: list[dict[str, Any]] = []
        self._reason = ""

    def write(self, rows: pyarrow.RecordBatch) -> None:
        if not rows.num_rows:
            return
        if self._kind == _DEAD and not self._reason:
            place = [
                rows.column(n)[0].as_py() for n in ("topic", "partition", "offset")
            ]
            reason = rows.column("reason")[0].as_py()
            self._reason = f"{place[0]}-{place[1]} at offset {place[2]}: {reason}"
        self._pending.append(rows)
        self._pending_size += rows.nbytes
        if self._pending_size >= _ROW_GROUP_SIZE:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending)
        if self._schema:
            table = aligned(table, pa.ipc.read_schema(pa.py_buffer(self._schema)))
        self._pending, self._pending_size = [], 0
        if self._writer is None:
            assert self._folder is not None
            self._path = os.path.join(self._folder, f"{uuid.uuid4().hex}.parquet")
            try:
                self._writer = pq.ParquetWriter(
                    self._path + ".tmp", table.schema, compression=self._compression
                )
            except (FileNotFoundError, PermissionError) as error:
                if not is_task():
                    raise
                raise JobStopped(not_shared(self._folder, error)) from None
        self._writer.write_table(table)
        self._row_count += table.num_rows
        if os.path.getsize(self._path + ".tmp") >= _FILE_SIZE_MAX:
            self._close()

    def _close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._writer = None
        # Here, because the driver may be another machine: its sync writes nothing of
        # what this one still has in memory.
        sync(self._path + ".tmp")
        os.rename(self._path + ".tmp", self._path)
        size = os.path.getsize(self._path)
        self._reports.append(
            {
                "kind": self._kind,
                "path": self._path,
                "rows": self._row_count,
                "size": size,
                "reason": self._reason or None,
            }
        )
        self._row_count = 0

    def finish(self) -> list[dict[str, Any]]:
        self._flush()
        self._close()
        return self._reports

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.close()


def not_shared(folder: str, error: OSError) -> str:
    """What to say where a task cannot write into a folder that the driver has made."""
    host = socket.gethostname()
    if isinstance(error, PermissionError):
        return (
            f"{host} may not write to {folder} (as user {os.getuid()}), which the"
            " driver has made: run the executors as the driver's user, or give the"
            " table's folder to a group that both are in"
        )
    return (
        f"{host} does not see {folder}, which the driver has made: every machine of"
        " Spark must have the table's folder under the same path, as one shared file"
        " system; `odradek pipeline doctor --path FOLDER` asks every executor"
    )


def _first_reason(dead: pyarrow.RecordBatch) -> str:
    names = ("topic", "partition", "offset", "reason")
    topic, partition, offset, reason = (dead.column(n)[0].as_py() for n in names)
    return f"{topic}-{partition} at offset {offset}: {reason}"


def _report_schema() -> pyarrow.Schema:
    import pyarrow as pa

    kinds = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32()}
    fields = [field.split() for field in REPORT.split(",")]
    return pa.schema([(name, kinds[kind]) for name, kind in fields])


def read_reports(reports: Iterable[dict[str, Any]]) -> Written:
    """What all tasks wrote, taken together."""
    files: dict[str, list[DataFile]] = {_ROWS: [], _DEAD: []}
    offsets: dict[TopicPartition, tuple[int, int]] = {}
    failure = ""
    for report in reports:
        if report["kind"] == _SEEN:
            place = TopicPartition(report["topic"], report["partition"])
            first, last = report["first"], report["last"]
            known = offsets.get(place, (first, last))
            offsets[place] = min(known[0], first), max(known[1], last)
            continue
        file = DataFile(report["path"], report["rows"], report["size"])
        files[report["kind"]].append(file)
        failure = failure or report["reason"] or ""
    rows, dead = files[_ROWS], files[_DEAD]
    return Written(
        rows,
        dead,
        sum(file.row_count for file in rows),
        sum(file.row_count for file in dead),
        offsets,
        failure,
    )


def folders(staging: Path, dead_staging: Path | None) -> tuple[str, str | None]:
    """The staging folders as the tasks are told them."""
    return str(staging), None if dead_staging is None else str(dead_staging)
