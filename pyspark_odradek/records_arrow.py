"""Record batches become Arrow: the rows that Spark sees of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.control_records import ControlType, read_marker
from protocol.errors import KafkaError
from protocol.record_batch import BatchHeader, check_crc, scan
from protocol.records import iterate

from .damage import Damage, OnCorrupt, meet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow

    from protocol.messages.fetch import AbortedTransaction
    from protocol.topic_partition import TopicPartition

    from .columns import RecordColumns


class RecordsToArrow:
    """Turns the batches of one partition, handed over in their order, into rows.

    Control batches give no rows. With ``aborted`` the reader is committed: what these
    transactions wrote is left out as well.
    """

    def __init__(
        self,
        place: TopicPartition,
        columns: RecordColumns,
        *,
        aborted: Sequence[AbortedTransaction] | None = None,
        on_corrupt: OnCorrupt = OnCorrupt.FAIL,
    ) -> None:
        self.place = place
        self.next_offset = 0
        self._columns = columns
        self._schema = columns.arrow_schema()
        self._aborted = sorted(aborted or (), key=lambda each: each.first_offset)
        self._aborting: set[int] = set()
        self._on_corrupt = on_corrupt

    def decode(
        self, data: memoryview, start: int, end: int
    ) -> Iterator[pyarrow.RecordBatch]:
        """The records of the whole batches in ``data``, those in [start, end) only.

        A last batch that is cut is ignored; ``next_offset`` says where to go on once
        the iterator is at its end.

        Raises:
            CorruptData: a batch is damaged, and ``on_corrupt`` is FAIL.
        """
        import pyarrow as pa

        self.next_offset = start
        for position, header in scan(data):
            if header.base_offset >= end:
                return
            batch = data[position : position + header.size]
            rows: list[dict[str, Any]] = []
            try:
                if not check_crc(batch, header):
                    raise ValueError("the checksum is wrong")
                if self._has_rows(batch, header):
                    rows = self._rows(batch, header, start, end)
            except (KafkaError, ValueError) as error:
                where = position, position + header.size, header.base_offset
                meet(Damage(self.place, *where, str(error)), self._on_corrupt)
            self.next_offset = header.next_offset
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=self._schema)

    def _has_rows(self, batch: memoryview, header: BatchHeader) -> bool:
        while self._aborted and self._aborted[0].first_offset <= header.last_offset:
            self._aborting.add(self._aborted.pop(0).producer_id)
        if header.is_control:
            marker = read_marker(batch)
            if marker and marker.control_type is ControlType.ABORT:
                self._aborting.discard(header.producer_id)
            return False
        return not (header.is_transactional and header.producer_id in self._aborting)

    def _rows(
        self, batch: memoryview, header: BatchHeader, start: int, end: int
    ) -> list[dict[str, Any]]:
        return [
            {
                "key": record.key,
                "value": record.value,
                "topic": self.place.topic,
                "partition": self.place.partition,
                "offset": record.offset,
                "timestamp": record.timestamp * 1000,
                "timestampType": int(header.is_log_append_time),
                "headers": [
                    {"key": name, "value": value} for name, value in record.headers
                ]
                or None,
            }
            for record in iterate(batch)
            if start <= record.offset < end
        ]
