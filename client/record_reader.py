"""Records out of what a fetch returned: in order, without what is none of theirs.

Control records are never shown; with ``committed`` neither are records of aborted
transactions. Every batch is checked before its records are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.control_records import ControlType, decode_key
from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import check_crc, scan
from odradek.protocol.records import Record, iterate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.protocol.record_batch import BatchHeader

    from .fetcher import Fetched


class ReadBatch(NamedTuple):
    """A batch whose records count, as bytes of the answer."""

    header: BatchHeader
    data: memoryview


def read_batches(fetched: Fetched, *, committed: bool) -> Iterator[ReadBatch]:
    """The batches of clients, of which the first may begin before what was asked for.

    Raises:
        CorruptMessage: a checksum does not agree.
    """
    to_come = sorted(fetched.aborted, key=lambda each: each.first_offset)
    aborted: set[int] = set()
    for position, header in scan(fetched.records):
        data = fetched.records[position : position + header.size]
        if not check_crc(data, header):
            raise CorruptMessage(
                f"{fetched.place}: the batch at offset {header.base_offset} does not"
                " have the checksum that it says."
            )
        while to_come and to_come[0].first_offset <= header.last_offset:
            aborted.add(to_come.pop(0).producer_id)
        if header.is_control:
            if committed and _is_abort(data):
                aborted.discard(header.producer_id)
            continue
        if committed and header.is_transactional and header.producer_id in aborted:
            continue
        yield ReadBatch(header, data)


def read_records(fetched: Fetched, offset: int, *, committed: bool) -> Iterator[Record]:
    """The records from ``offset`` on.

    Raises:
        CorruptMessage, InvalidRecord, MessageTooLarge: a batch cannot be read.
    """
    for batch in read_batches(fetched, committed=committed):
        for record in iterate(batch.data):
            if record.offset >= offset:
                yield record


def _is_abort(data: memoryview) -> bool:
    for record in iterate(data):
        return decode_key(record.key) is ControlType.ABORT
    return False  # compaction took it
