"""A small micro-batch is written by the driver itself: a task of Spark costs more.

It is read as tasks read it, and by the same `BatchWriter` written, so that the same is
in the files. Where that fails, the tasks do it, with their own tries and messages.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from odradek.client.fetcher import Fetcher
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.batch_writer import read_reports
from odradek.pipeline.records.gathered import gathered
from odradek.pipeline.source.data_source import Decoding
from odradek.pipeline.source.log_view import cluster_of
from odradek.pipeline.source.options import RECORDS, read_stream_options
from odradek.pipeline.source.wire_reader import begun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow

    from odradek.pipeline.jobs.batch_writer import BatchWriter
    from odradek.pipeline.jobs.job_committer import Written
    from odradek.pipeline.records.columns import RecordColumns
    from odradek.pipeline.records.offset_range import OffsetRange

_log = logging.getLogger(__name__)

# Tasks are more patient.
_TIMEOUT_MS = 5000


class SmallBatches:
    """Writes them, for one driver, over connections that are kept."""

    def __init__(
        self, source: Mapping[str, str], columns: RecordColumns, records_max: int
    ) -> None:
        """``source`` are the options of the stream; larger batches are not small."""
        self._options = read_stream_options(source)
        self._decoding = Decoding(RECORDS, columns, self._options)
        self._records_max = records_max
        self._fetcher: Fetcher | None = None

    def close(self) -> None:
        """Close the connections."""
        if self._fetcher is not None:
            self._fetcher.cluster.close()
            self._fetcher = None

    def write(
        self,
        planned: Sequence[OffsetRange],
        topic_ids: Mapping[str, bytes],
        writer: BatchWriter,
    ) -> Written | None:
        """What was written of these offsets; None where tasks have to do it.

        The topics still have to be those with the ids, where they are known.

        Raises:
            JobError: they would fail too.
        """
        if sum(max(each.count, 0) for each in planned) > self._records_max:
            return None
        try:
            return read_reports(writer.write_rows(self._records(planned, topic_ids)))
        except JobError:
            raise
        except Exception as error:
            self.close()
            _log.info("Tasks write what the driver could not: %s", error)
            return None

    def _records(
        self, planned: Sequence[OffsetRange], topic_ids: Mapping[str, bytes]
    ) -> Iterator[pyarrow.RecordBatch]:
        if self._fetcher is None:
            options = self._options
            timeout_ms = min(options.timeout_ms, _TIMEOUT_MS)
            cluster = cluster_of(replace(options, timeout_ms=timeout_ms))
            self._fetcher = Fetcher(cluster, committed=options.committed)
        self._fetcher.expect(topic_ids)
        filled = [each for each in planned if each.count > 0]
        rows = self._read(self._fetcher, filled)
        yield from rows if len(filled) == 1 else gathered(rows)

    def _read(
        self, fetcher: Fetcher, planned: Sequence[OffsetRange]
    ) -> Iterator[pyarrow.RecordBatch]:
        options, decoding = self._options, self._decoding
        together = decoding.of_small_answers()
        for _, rows in begun(fetcher, planned, options, decoding.of_answer, together):
            yield from rows
