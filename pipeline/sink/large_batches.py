"""A large micro-batch is written by tasks, which read what Spark has planned.

They read it by themselves: see `DirectTasks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.jobs.direct_tasks import DirectTasks
from odradek.pipeline.source.data_source import Decoding, wire_partitions
from odradek.pipeline.source.options import RECORDS, read_stream_options
from odradek.pipeline.source.path_view import segment_partitions
from odradek.pipeline.source.planning import OffsetSizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql.datasource import InputPartition

    from odradek.pipeline.jobs.batch_writer import BatchWriter
    from odradek.pipeline.records.columns import RecordColumns
    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.source.log_view import LogView


class LargeBatches:
    """Makes the tasks that write them."""

    def __init__(
        self, source: Mapping[str, str], columns: RecordColumns, view: LogView
    ) -> None:
        """``source`` are the options of the stream; ``view`` shows its brokers."""
        self._options = read_stream_options(source)
        self._decoding = Decoding(RECORDS, columns, self._options)
        self._view = view
        self._sizes = OffsetSizes()

    def tasks(
        self,
        planned: Sequence[OffsetRange],
        topic_ids: Mapping[str, bytes],
        writer: BatchWriter,
    ) -> DirectTasks:
        """Those that write these offsets.

        The topics still have to be those with the ids, where they are known.

        Raises:
            SourceError: the records are not there.
        """
        filled = [each for each in planned if each.count > 0]
        partitions = self._partitions(filled, topic_ids)
        return DirectTasks(partitions, self._options, self._decoding, writer)

    def _partitions(
        self, planned: Sequence[OffsetRange], topic_ids: Mapping[str, bytes]
    ) -> list[InputPartition]:
        options = self._options
        if options.path is not None:
            return segment_partitions(planned, options, topic_ids)
        sizes = self._sizes.of(planned, self._view)
        return wire_partitions(planned, options, topic_ids, sizes)
