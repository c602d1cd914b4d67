"""Tasks that read records and write the rows of the table, all in one process.

A frame of records would go from the Python that reads them into Java, row by row, and
from there into the Python that writes them: more work than both do. Here Spark hands
each task a number, and gets its reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from odradek.pipeline.source.data_source import read_partition
from odradek.pipeline.workers.garbage_collection import freeze_once

from .batch_writer import REPORT, read_reports, report_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import InputPartition

    from odradek.pipeline.source.data_source import Decoding
    from odradek.pipeline.source.options import SourceOptions

    from .batch_writer import BatchWriter
    from .job_committer import Written

_TASKS_TOGETHER = 500


@dataclass(frozen=True)
class DirectTasks:
    """What the tasks read, as the source plans it, and what they write."""

    partitions: Sequence[InputPartition]
    options: SourceOptions
    decoding: Decoding
    writer: BatchWriter

    def write(self, spark: SparkSession) -> Written:
        """Run them, and collect what they wrote."""
        if not self.partitions:
            return read_reports([])
        frames = [each._reports(spark) for each in self._sliced()]
        reports = reduce(lambda one, other: one.union(other), frames).collect()
        return read_reports(report.asDict() for report in reports)

    def _sliced(self) -> Iterator[DirectTasks]:
        """Some at a time: each task is handed what all of its slice read."""
        for start in range(0, len(self.partitions), _TASKS_TOGETHER):
            some = self.partitions[start : start + _TASKS_TOGETHER]
            yield replace(self, partitions=some)

    def _reports(self, spark: SparkSession) -> DataFrame:
        count = len(self.partitions)
        return spark.range(0, count, 1, count).mapInArrow(self._task, REPORT)

    def _task(
        self, numbers: Iterator[pyarrow.RecordBatch]
    ) -> Iterator[pyarrow.RecordBatch]:
        freeze_once()
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                if reports := self.reports(number):
                    yield report_rows(reports)

    def reports(self, number: int) -> list[dict[str, Any]]:
        """Those of one task."""
        partition = self.partitions[number]
        rows = read_partition(partition, self.options, self.decoding)
        return self.writer.write_rows(rows)
