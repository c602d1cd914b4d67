"""``format("odradek")`` of ``spark.read``, ``readStream``, ``write``, ``writeStream``.

What makes rows of batches is loaded only for them: it costs pandas, 0.3 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from odradek.pipeline.records.columns import RecordColumns, check_types
from odradek.pipeline.records.gathered import gathered
from odradek.pipeline.records.records_arrow import RecordsToArrow
from odradek.pipeline.records.small_answers import SmallAnswers
from odradek.pipeline.segments.reader import read_segments
from odradek.pipeline.workers.garbage_collection import freeze_once
from odradek.protocol.uuids import ZERO_UUID

from .options import BATCHES, read_options, read_stream_options, wanted_mode
from .path_view import SegmentPartition, log_view, segment_partitions
from .planning import Planner, split, together, weights
from .pushdown import Narrowing
from .wire_reader import read_wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow
    from pyspark.sql.datasource import (
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
        Filter,
    )
    from pyspark.sql.types import StructType

    from odradek.client.fetcher import Fetched
    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.segments.planning import SegmentRange
    from odradek.protocol.topic_partition import TopicPartition

    from .options import SourceOptions
    from .wire_reader import Decoder


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
            from odradek.pipeline.segments.batch_rows import BATCH_DDL

            return BATCH_DDL
        return RecordColumns.of(include_headers=include_headers).ddl

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in ``schema``."""
        options = read_options(self.options)
        kind = PushdownReader if options.pushdown else BatchReader
        return kind(options, Decoding.of(options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A reader of what comes."""
        from .stream_source import StreamReader

        options = read_stream_options(self.options)
        return StreamReader(options, Decoding.of(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer of rows, to topics."""
        from odradek.pipeline.writing.writers import batch_writer

        return batch_writer(self.options, schema, overwrite=overwrite)

    def streamWriter(
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamWriter:
        """A writer of the rows of a stream, to topics."""
        from odradek.pipeline.writing.writers import stream_writer

        return stream_writer(self.options, schema, overwrite=overwrite)


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
            from odradek.pipeline.segments.batch_rows import BATCH_TYPES

            check_types(schema, BATCH_TYPES)
            return cls(options.mode, RecordColumns(tuple(schema.fieldNames())), options)
        return cls(options.mode, RecordColumns.of_schema(schema), options)

    def of_segment(self, piece: SegmentRange) -> Iterator[pyarrow.RecordBatch]:
        """The rows of a piece of a segment."""
        if self.mode == BATCHES:
            from odradek.pipeline.segments.batch_rows import read_batches

            return read_batches(
                piece,
                self.columns.names,
                on_corrupt=self.options.on_corrupt,
                fails_on_data_loss=self.options.fails_on_data_loss,
            )
        return read_segments(
            piece,
            self.columns,
            on_corrupt=self.options.on_corrupt,
            fails_on_data_loss=self.options.fails_on_data_loss,
        )

    def of_answer(self, fetched: Fetched) -> Decoder:
        """A decoder for what a broker answered."""
        if self.mode == BATCHES:
            from odradek.pipeline.segments.batch_rows import BatchesToArrow

            return BatchesToArrow(
                fetched.place,
                self.columns.names,
                on_corrupt=self.options.on_corrupt,
            )
        return RecordsToArrow(
            fetched.place,
            self.columns,
            aborted=fetched.aborted if self.options.committed else None,
            on_corrupt=self.options.on_corrupt,
        )

    def of_small_answers(self) -> SmallAnswers | None:
        """What decodes answers of many partitions together; None for batches."""
        return None if self.mode == BATCHES else SmallAnswers(self.columns)


@dataclass(frozen=True, repr=False)
class WirePartition(InputPartition):
    """Offsets that one task fetches, if the topics still are those of the plan."""

    wanted: tuple[OffsetRange, ...]
    topic_ids: Mapping[str, bytes]


def wire_partitions(
    ranges: Sequence[OffsetRange],
    options: SourceOptions,
    topic_ids: Mapping[str, bytes],
    sizes: Mapping[TopicPartition, float] | None = None,
) -> list[InputPartition]:
    """The tasks that fetch these offsets."""
    return [
        WirePartition(
            wanted, {e.topic: topic_ids.get(e.topic, ZERO_UUID) for e in wanted}
        )
        for wanted in together(split(ranges, options, sizes), options)
    ]


class BatchReader(DataSourceReader):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, options: SourceOptions, decoding: Decoding) -> None:
        self._options = options
        self._decoding = decoding
        self._narrowing = Narrowing()

    def partitions(self) -> list[InputPartition]:
        """Stretches of offsets, each for one task."""
        with log_view(self._options) as view:
            planner = Planner(view, self._options)
            ranges = self._narrowing.of(planner.ranges(), view)
            if self._options.path is not None:
                return segment_partitions(ranges, self._options, planner.topic_ids)
            heavy = weights(ranges, view)
            return wire_partitions(ranges, self._options, planner.topic_ids, heavy)

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        """The rows of one of them."""
        return read_partition(partition, self._options, self._decoding)


class PushdownReader(BatchReader):
    """The same, told of the filters; Spark must be set to tell them.

    A class of its own, as a session that is not refuses every reader that could.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """All of them, which Spark applies all the same."""
        for each in filters:
            self._narrowing = self._narrowing.by(each)
            yield each


def read_partition(
    partition: InputPartition, options: SourceOptions, decoding: Decoding
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of a stretch; none where Spark made a task of an empty plan."""
    freeze_once()
    if isinstance(partition, SegmentPartition):
        yield from decoding.of_segment(partition.piece)
    elif isinstance(partition, WirePartition):
        wanted, topic_ids = partition.wanted, partition.topic_ids
        of_answer = decoding.of_answer
        if len(wanted) == 1:
            yield from read_wire(wanted, topic_ids, options, of_answer)
            return
        together = decoding.of_small_answers()
        yield from gathered(read_wire(wanted, topic_ids, options, of_answer, together))
