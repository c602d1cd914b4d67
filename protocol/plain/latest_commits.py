"""The offsets that groups have committed, of many batches at once, in plain Python.

``speedups_commits.c`` does the same, many times faster; this serves where it was not
built, and says what it does.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from odradek.protocol.record_batch import BATCH_OVERHEAD, TRANSACTIONAL, read_header

from .records import RECORD_SIZE_MIN, walk_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from odradek.protocol.record_batch import BatchHeader

# Where the group's id begins, its length, that of the topic's name (which begins two
# bytes behind the id), the partition; the offset, the leader epoch and the time of the
# commit; where the topic's id begins, or -1; the offset of the record, and the largest
# timestamp of the batch in which the key was met first.
COMMIT_COLUMNS: Final = 10
_ROW = Struct("=10q")
_SLOT_SIZE = 24
_SLOT_COUNT_MAX = 1 << 31
_SECRET_SIZE = 16
_BASE_OFFSET_MAX = 2**63 - 2**31 - 1

_KIND = Struct(">hh")  # and the length of the group's id
_LENGTH = Struct(">h")
_PARTITION = Struct(">i")
_KEY_SIZE_MIN = 10
_OFFSET_KEY = 1
_VALUE_4 = Struct(">hqiBqBBB16x")
_VALUE_4_UUID = 26
_VALUE_3 = Struct(">hqihq")


def latest_commits(
    data: "Buffer",
    slots: "Buffer",
    secret: "Buffer",
    rows: "Buffer",
    position: int,
    records_max: int,
    /,
) -> tuple[int, int, int, int]:
    """Find the last offset for each group and partition in ``data`` from a position on.

    Batches are whole and lie one behind another; their checksums were compared before.
    It ends before the first that is not whole, is compressed, control or of a
    transaction, or has anything but offsets as most are: without a note and an expiry,
    in version 4 with a topic id, or in version 3. And before one with which it would
    be more than ``records_max`` records, or for whose keys ``rows``, a writable buffer
    of ten int64 each, has no room. Rows are in the order in which their keys were met;
    of the batch before which it ends some records may have been taken.

    ``slots`` is a writable buffer of 24 bytes for each key, with what in it does not
    matter, and ``secret`` has 16 bytes: what C needs to find keys again.

    Returns:
        Where it ended, the offset behind the last batch that was taken, -1 without any,
        the number of its records and those before, and how many rows there are.

    Raises:
        BufferError: there is no slot, or the secret has not 16 bytes.
    """
    if position < 0:
        raise ValueError("the position is out of range")
    slot_count = memoryview(slots).nbytes // _SLOT_SIZE
    if not 1 <= slot_count <= _SLOT_COUNT_MAX:
        raise BufferError("1 to 2**31 slots of 24 bytes are needed")
    if memoryview(secret).nbytes != _SECRET_SIZE:
        raise BufferError("the secret has 16 bytes")
    cells = memoryview(rows).cast("B")
    found = _Found(cells, min(slot_count, len(cells) // _ROW.size))
    next_offset, count = -1, 0
    content = bytes(data)
    for start, header in _plain_batches(content, position):
        if header.records_count > records_max - count or not found.take(
            content, start, header
        ):
            break
        position, next_offset = start + header.size, header.next_offset
        count += header.records_count
    return position, next_offset, count, len(found.places)


def _plain_batches(data: bytes, position: int) -> "Iterator[tuple[int, BatchHeader]]":
    while len(data) - position >= BATCH_OVERHEAD:
        header = read_header(data, position)
        if (
            not BATCH_OVERHEAD <= header.size <= len(data) - position
            or not 0 <= header.base_offset <= _BASE_OFFSET_MAX
            or header.last_offset_delta < 0
            or header.compression
            or header.attributes & TRANSACTIONAL
            or header.is_control
            or not 1 <= header.records_count * RECORD_SIZE_MIN <= _payload_size(header)
        ):
            return
        yield position, header
        position += header.size


def _payload_size(header: "BatchHeader") -> int:
    return header.size - BATCH_OVERHEAD


class _Found:
    """The rows, and which key has which."""

    def __init__(self, cells: memoryview, capacity: int) -> None:
        self.places: dict[bytes, int] = {}
        self._cells = cells
        self._capacity = capacity

    def take(self, data: bytes, start: int, header: "BatchHeader") -> bool:
        """Put a batch's records into the rows of their keys; whether all were."""
        payload_at, end = start + BATCH_OVERHEAD, start + header.size
        try:
            for row, _, _ in walk_records(data[payload_at:end], header.records_count):
                _, delta, key_at, key_size, value_at, value_size = row
                offset = header.base_offset + delta
                if key_size < 0 or not self._take(
                    data,
                    (payload_at + key_at, key_size),
                    (payload_at + value_at, value_size),
                    (offset, header.max_timestamp),
                ):
                    return False
        except ValueError:
            return False
        return True

    def _take(
        self,
        data: bytes,
        key_span: tuple[int, int],
        value_span: tuple[int, int],
        ends: tuple[int, int],
    ) -> bool:
        names, value = _read_key(data, *key_span), _read_value(data, *value_span)
        if names is None or value is None:
            return False
        key = data[key_span[0] : sum(key_span)]
        place = self.places.get(key)
        offset, begun_ms = ends
        if place is None:
            if len(self.places) == self._capacity:
                return False
            place = self.places[key] = len(self.places)
        else:
            begun_ms = _ROW.unpack_from(self._cells, place * _ROW.size)[-1]
        _ROW.pack_into(self._cells, place * _ROW.size, *names, *value, offset, begun_ms)
        return True


def _read_key(data: bytes, at: int, size: int) -> tuple[int, int, int, int] | None:
    if size < _KEY_SIZE_MIN:
        return None
    kind, group_length = _KIND.unpack_from(data, at)
    if kind != _OFFSET_KEY or not 0 <= group_length <= size - _KEY_SIZE_MIN:
        return None
    topic_at = at + _KIND.size + group_length
    (topic_length,) = _LENGTH.unpack_from(data, topic_at)
    if topic_length != size - _KEY_SIZE_MIN - group_length:
        return None
    (partition,) = _PARTITION.unpack_from(data, topic_at + 2 + topic_length)
    return at + _KIND.size, group_length, topic_length, partition


def _read_value(data: bytes, at: int, size: int) -> tuple[int, int, int, int] | None:
    if size == _VALUE_4.size:
        version, offset, epoch, one, time, *tags = _VALUE_4.unpack_from(data, at)
        if (version, one, *tags) == (4, 1, 1, 0, 16):
            return offset, epoch, time, at + _VALUE_4_UUID
    elif size == _VALUE_3.size:
        version, offset, epoch, note_size, time = _VALUE_3.unpack_from(data, at)
        if (version, note_size) == (3, 0):
            return offset, epoch, time, -1
    return None
