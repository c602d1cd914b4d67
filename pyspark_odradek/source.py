"""``spark.read.format("odradek")`` and ``spark.readStream.format("odradek")``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    InputPartition,
)

from .columns import RecordColumns
from .log_view import BrokerView, connected
from .options import BATCHES, read_options, read_stream_options, wanted_mode
from .planning import Planner, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from pyspark.sql.datasource import DataSourceStreamReader
    from pyspark.sql.types import StructType

    from client.fetcher import Fetched

    from .offset_range import OffsetRange
    from .options import SourceOptions


class DefaultSource(DataSource):
    """What Spark finds under the name ``odradek``."""

    @classmethod
    def name(cls) -> str:
        """The word behind ``format``."""
        return "odradek"

    def schema(self) -> str:
        """The columns of Spark's Kafka connector, or those of batches."""
        mode, include_headers = wanted_mode(self.options)
        if mode == BATCHES:
            from .batch_rows import BATCH_DDL

            return BATCH_DDL
        return RecordColumns.of(include_headers=include_headers).ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in ``schema``."""
        options = read_options(self.options)
        return BatchReader(options, Decoding.of(options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of what comes."""
        from .stream_source import StreamReader

        options = read_stream_options(self.options)
        return StreamReader(options, Decoding.of(options, schema))


@dataclass(frozen=True)
class Decoding:
    """What becomes of the bytes: records or batches, and of these which columns."""

    mode: str
    columns: RecordColumns
    options: SourceOptions

    @classmethod
    def of(cls, options: SourceOptions, schema: StructType) -> Decoding:
        """The columns that the schema names."""
        if options.mode == BATCHES:
            return cls(options.mode, RecordColumns(tuple(schema.fieldNames())), options)
        return cls(options.mode, RecordColumns.of_schema(schema), options)

    def of_answer(self, fetched: Fetched) -> Any:
        """A decoder for what a broker answered."""
        if self.mode == BATCHES:
            from .batch_rows import BatchesToArrow

            return BatchesToArrow(fetched.place, self.columns.names)
        from .records_arrow import RecordsToArrow

        return RecordsToArrow(
            fetched.place,
            self.columns,
            aborted=fetched.aborted if self.options.committed else None,
            on_corrupt=self.options.on_corrupt,
        )


@dataclass(frozen=True, repr=False)
class WirePartition(InputPartition):
    """Offsets that one task fetches, if the topic still is the one that was planned."""

    wanted: OffsetRange
    topic_id: bytes


class BatchReader(DataSourceReader):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, options: SourceOptions, decoding: Decoding) -> None:
        self._options = options
        self._decoding = decoding

    def partitions(self) -> list[InputPartition]:
        """Stretches of offsets, each for one task."""
        with connected(self._options) as cluster:
            view = BrokerView(cluster, committed=self._options.committed)
            planner = Planner(view, self._options)
            ranges = split(planner.ranges(), self._options)
            return [
                WirePartition(each, planner.topic_ids[each.topic]) for each in ranges
            ]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The rows of one of them."""
        return read_partition(partition, self._options, self._decoding)


def read_partition(
    partition: InputPartition, options: SourceOptions, decoding: Decoding
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a stretch; none where Spark made a task of an empty plan."""
    if not isinstance(partition, WirePartition):
        return
    from .wire_reader import read_wire

    yield from read_wire(
        partition.wanted, partition.topic_id, options, decoding.of_answer
    )
