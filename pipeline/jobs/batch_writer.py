"""What a task of a micro-batch does: decode records, and write files of rows.

A task writes to files of its own in the staging folder and reports them; Spark hands
on the reports of successful tasks only, so that what a failed, repeated or
speculative one wrote is in no commit. A file has a temporary name until it is whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.records.columns import HEADERS, without_nulls
from odradek.pipeline.tables.partitions.partitioning import WHOLE
from odradek.pipeline.tables.places.task_file import as_told
from odradek.pipeline.tables.table import DataFile
from odradek.pipeline.workers.garbage_collection import freeze_once
from odradek.protocol.topic_partition import TopicPartition

from .job_committer import Written
from .row_files import PLAIN, RowFiles, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow
    from pyspark.sql import DataFrame

    from odradek.pipeline.tables.places.place import StagingFolder
    from odradek.pipeline.tables.places.task_file import Folder
    from odradek.pipeline.values.decoding import Maker, ValueFormat

# One row for each file, and one for each partition that a task had records of.
REPORT = (
    "kind string, path string, rows bigint, size bigint, topic string, partition int,"
    " first bigint, last bigint, reason string, partition_path string"
)
_ROWS, _DEAD, _SEEN = "rows", "dead", "seen"


@dataclass(frozen=True)
class BatchWriter:
    """Writes the records of a micro-batch; goes to the tasks as it is."""

    how: ValueFormat
    staging: Folder
    dead_staging: Folder | None
    shape: Shape = PLAIN
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
        freeze_once()
        reports = self.write_rows(map(unlisted, batches))
        if reports:
            yield report_rows(reports)

    def write_rows(
        self, batches: Iterable[pyarrow.RecordBatch]
    ) -> list[dict[str, Any]]:
        """The reports of one task."""
        maker, seen, reason = None, _Seen(), ""
        rows = RowFiles(self.staging, self._files_shape())
        dead = RowFiles(self.dead_staging, Shape(self.shape.compression))
        try:
            for batch in batches:
                if not batch.num_rows:
                    continue
                maker = maker or self._maker(batch.schema)
                good, bad = maker.make(batch)
                seen.add(batch)
                rows.write(good)
                if bad.num_rows and not reason:
                    reason = _first_reason(bad)
                if bad.num_rows and self.dead_staging is None:
                    raise JobStopped(
                        f"a value cannot be decoded: {reason}; "
                        "[dead_letters] enabled = true keeps such records in a table "
                        "of their own"
                    )
                dead.write(bad)
        except BaseException:
            rows.abandon()
            dead.abandon()
            raise
        return [
            *({"kind": _ROWS, **each} for each in rows.finish()),
            *({"kind": _DEAD, "reason": reason, **each} for each in dead.finish()),
            *seen.reports(),
        ]

    def _files_shape(self) -> Shape:
        """Rows that take the place of others are divided when they do."""
        return replace(self.shape, partitioning=WHOLE) if self.upserts else self.shape

    def _maker(self, records: pyarrow.Schema) -> Maker:
        """What makes rows of records."""
        from odradek.pipeline.values.decoding import RowMaker
        from odradek.pipeline.values.partition_rows import PartitionedMaker
        from odradek.pipeline.values.upsert_rows import UpsertMaker

        kind = UpsertMaker if self.upserts else RowMaker
        maker: Maker = kind(self.how, records)
        if not self.shape.partitioning:
            return maker
        return PartitionedMaker(maker, self.shape.partitioning)


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


def _first_reason(dead: pyarrow.RecordBatch) -> str:
    names = ("topic", "partition", "offset", "reason")
    topic, partition, offset, reason = (dead.column(n)[0].as_py() for n in names)
    return f"{topic}-{partition} at offset {offset}: {reason}"


def report_rows(reports: list[dict[str, Any]]) -> pyarrow.RecordBatch:
    """As a task hands them to Spark."""
    import pyarrow as pa

    kinds = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32()}
    fields = [field.split() for field in REPORT.split(",")]
    schema = pa.schema([(name, kinds[kind]) for name, kind in fields])
    return pa.RecordBatch.from_pylist(reports, schema=schema)


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
        named = report["path"], report["rows"], report["size"]
        file = DataFile(*named, report.get("partition_path") or "")
        files[report["kind"]].append(file)
        failure = failure or report.get("reason") or ""
    rows, dead = files[_ROWS], files[_DEAD]
    return Written(
        rows,
        dead,
        sum(file.row_count for file in rows),
        sum(file.row_count for file in dead),
        offsets,
        failure,
    )


def folders(
    staging: StagingFolder, dead_staging: StagingFolder | None
) -> tuple[Folder, Folder | None]:
    """The staging folders as the tasks are told them."""
    return as_told(staging), None if dead_staging is None else as_told(dead_staging)
