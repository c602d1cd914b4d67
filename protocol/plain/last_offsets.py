"""Of each key the last offset, noted and looked up, in plain Python.

``speedups.c`` does the same, many times faster; this serves where it was not built, and
says what it does. A table is a writable buffer of slots, all zero at first: 16 bytes of
the key's digest, and the offset and one. Only the digests differ (SipHash there, BLAKE2
here), so a table is of no use to the other.

Batches are whole and lie one behind another; their checksums were compared before.
"""

from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    LOG_OVERHEAD,
    BatchHeader,
    pack_header,
    read_header,
    restamp_crc,
)

from .records import check_count, walk_records, wrap_int64

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

_SLOT = Struct("=16sQ")
_DIGEST_SIZE = 16
_PLACE = Struct("<I")
_SLOT_COUNT_MAX = 1 << 31
_BASE_OFFSET_MAX = 2**63 - 2**31 - 1


def map_keys(
    data: "Buffer",
    slots: "Buffer",
    secret: "Buffer",
    start_offset: int,
    room: int,
    stops_at: int,
    /,
) -> tuple[int, int, int, bool]:
    """Note the last offset of each key in ``data``, from ``start_offset`` on.

    It ends before a batch with an attribute of ``stops_at``, or before the first record
    whose key is new where ``room`` keys were added, or no slot is empty.

    Returns:
        Where it ended: the position behind the last batch that was taken in whole. How
        many keys were added. The largest offset that was taken in, -1 when there was
        none; in a batch that was not taken in whole, that of the last record with a
        key. And whether there was no more room.

    Raises:
        ValueError: what is wrong with a batch, or which record is malformed.
        BufferError: the table has no slot, or the secret not 16 bytes.
    """
    table = _Table(slots, secret)
    if start_offset < 0:
        raise ValueError("the first offset is out of range")
    position, added, latest = 0, 0, -1
    for start, header, payload in _batches(data, stops_at):
        if header.last_offset >= start_offset:
            for row, _, _ in walk_records(payload, header.records_count):
                _, delta, key_at, key_length, _, _ = row
                offset = header.base_offset + delta
                if key_length < 0 or offset < start_offset:
                    continue
                digest = table.digest(payload[key_at : key_at + key_length])
                slot, known = table.find(digest)
                if slot < 0 or (known < 0 and added == room):
                    return position, added, latest, True
                added += known < 0
                latest = offset
                table.put(slot, digest, offset)
            latest = max(latest, header.last_offset)
        position = start + header.size
    return position, added, latest, False


def keep_latest(  # noqa: PLR0913 - the twin of a function in C
    data: "Buffer",
    slots: "Buffer",
    secret: "Buffer",
    target: "Buffer",
    pinned: "Buffer",
    latest_offset: int,
    now_ms: int,
    stops_at: int,
    /,
) -> tuple[int, int, int, int, int, int]:
    """Write the batches of ``data``, with the records that stay, into ``target``.

    A record stays when it lies behind ``latest_offset``, or has a key of which the
    table knows no later offset; a tombstone only until the batch's delete horizon. A
    batch that keeps all its records stays as it is, one that keeps none goes.

    It ends before a batch with an attribute of ``stops_at``, before one for which there
    may be no room, and behind one that the caller has to finish: one that keeps a
    tombstone and has no delete horizon yet, or keeps nothing and ends at an offset in
    ``pinned``, increasing int64. What stays of that one lies behind what was written.

    Returns:
        The position where it ended. The bytes written, and those of the batch to be
        finished, 0 when there is none. How many records were read, have stayed, and
        went because they had no key.

    Raises:
        ValueError: what is wrong with a batch, or which record is malformed.
        BufferError: the table has no slot, or the secret not 16 bytes.
    """
    table = _Table(slots, secret)
    pins = frozenset(memoryview(pinned).cast("B").cast("q"))
    out = memoryview(target).cast("B")
    position = size = pending = read = kept = null_keys = 0
    for start, header, payload in _batches(data, stops_at):
        if header.size > len(out) - size:
            break
        found = _filter(header, payload, table, latest_offset, now_ms)
        batch = _with_records(header, found.timestamp_deltas, b"".join(found.pieces))
        out[size : size + len(batch)] = batch
        position = start + header.size
        read += header.records_count
        kept += len(found.pieces)
        null_keys += found.null_keys
        if found.pieces:
            is_pending = found.has_tombstone and header.delete_horizon_ms is None
        else:
            is_pending = header.last_offset in pins
        if is_pending:
            pending = len(batch)
            break
        size += len(batch) if found.pieces else 0
    return position, size, pending, read, kept, null_keys


class _Found(NamedTuple):
    """The records of a batch that stay."""

    timestamp_deltas: list[int]
    pieces: list[bytes]
    has_tombstone: bool
    null_keys: int


def _filter(
    header: BatchHeader,
    payload: bytes,
    table: "_Table",
    latest_offset: int,
    now_ms: int,
) -> _Found:
    horizon_ms = header.delete_horizon_ms
    has_expired = horizon_ms is not None and horizon_ms <= now_ms
    has_tombstone, null_keys = False, 0
    deltas, pieces = [], []
    for row, start, end in walk_records(payload, header.records_count):
        timestamp_delta, delta, key_at, key_length, _, value_length = row
        offset = header.base_offset + delta
        if offset <= latest_offset:
            if key_length < 0:
                null_keys += 1
                continue
            digest = table.digest(payload[key_at : key_at + key_length])
            if table.find(digest)[1] > max(offset, -1):  # -1: it knows none
                continue
            if value_length < 0 and has_expired:
                continue
        has_tombstone = has_tombstone or value_length < 0
        deltas.append(timestamp_delta)
        pieces.append(payload[start:end])
    return _Found(deltas, pieces, has_tombstone, null_keys)


def _batches(
    data: "Buffer", stops_at: int
) -> "Iterator[tuple[int, BatchHeader, bytes]]":
    """Position, header and records of each batch, as far as ``stops_at`` says."""
    view = memoryview(data)
    position = 0
    while position < len(view):
        left = len(view) - position
        header = read_header(view, position) if left >= BATCH_OVERHEAD else None
        if header is None or not BATCH_OVERHEAD <= header.size <= left:
            raise ValueError("The batch is cut short.")
        if (
            not 0 <= header.base_offset <= _BASE_OFFSET_MAX
            or header.last_offset_delta < 0
        ):
            raise ValueError("The batch has offsets that cannot be.")
        end = position + header.size
        payload = bytes(view[position + BATCH_OVERHEAD : end])
        check_count(header.records_count, len(payload))
        if header.attributes & stops_at:
            return
        yield position, header, payload
        position = end


def _with_records(
    header: BatchHeader, timestamp_deltas: list[int], payload: bytes
) -> bytearray:
    """The batch with the records that stay."""
    batch = bytearray(BATCH_OVERHEAD) + payload
    if len(timestamp_deltas) == header.records_count:
        pack_header(batch, header)
        return batch
    max_timestamp = header.max_timestamp
    if timestamp_deltas and not header.is_log_append_time:
        max_timestamp = wrap_int64(header.base_timestamp + max(timestamp_deltas))
    changed = header._replace(
        batch_length=len(batch) - LOG_OVERHEAD,
        max_timestamp=max_timestamp,
        records_count=len(timestamp_deltas),
    )
    pack_header(batch, changed)
    restamp_crc(batch)
    return batch


class _Table:
    """The slots of a table, and how keys are found in it."""

    def __init__(self, slots: "Buffer", secret: "Buffer") -> None:
        self._slots = memoryview(slots).cast("B")
        self._count = len(self._slots) // _SLOT.size
        if not 1 <= self._count <= _SLOT_COUNT_MAX:
            raise BufferError("1 to 2**31 slots of 24 bytes are needed")
        self._secret = bytes(secret)
        if len(self._secret) != _DIGEST_SIZE:
            raise BufferError("the secret has 16 bytes")

    def digest(self, key: bytes) -> bytes:
        return blake2b(key, digest_size=_DIGEST_SIZE, key=self._secret).digest()

    def find(self, digest: bytes) -> tuple[int, int]:
        """The slot of a digest, or an empty one, and its offset or -1.

        The slot is -1 when the digest is not there, and no slot is empty.
        """
        (place,) = _PLACE.unpack_from(digest)
        place = place * self._count >> 32
        for _ in range(self._count):
            found, next_offset = _SLOT.unpack_from(self._slots, place * _SLOT.size)
            if not next_offset or found == digest:
                return place, next_offset - 1
            place = (place + 1) % self._count
        return -1, -1

    def put(self, slot: int, digest: bytes, offset: int) -> None:
        _SLOT.pack_into(self._slots, slot * _SLOT.size, digest, offset + 1)
