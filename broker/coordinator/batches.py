"""The batches in which a coordinator writes its records, and ends transactions."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

from odradek.protocol.checksum import crc32c
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CHECKED_POSITION,
    LOG_OVERHEAD,
)
from odradek.protocol.records import NewRecord, build_batch, encode_varint

from .decision import NO_PRODUCER, ProducerIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .decision import CoordinatorRecord

    Encoded = tuple[CoordinatorRecord, bytes, bytes | None]

NOBODY = ProducerIdentity(NO_PRODUCER, -1)
# What a batch, and a record in it, take besides keys and values, at the most.
BATCH_RESERVE = 100
_RECORD_RESERVE = 40

# A coordinator writes of some keys again and again.
_KEYS_KEPT = 1024
_KEPT_KEY_SIZE_MAX = 256

_new = tuple.__new__

_LENGTH, _LENGTH_POSITION = Struct(">i"), 8
_CRC, _CRC_POSITION = Struct(">I"), 17
_TIMES, _TIMES_POSITION = Struct(">qq"), 27  # the first, and the latest
_TEMPLATE = bytes(
    build_batch([NewRecord(timestamp=0)], base_sequence=0)[:BATCH_OVERHEAD]
)
_NO_DELTAS = bytes(3)  # attributes, and what is added to time and offset of the batch
_NO_HEADERS = bytes(1)


def in_batches(
    records: Sequence[CoordinatorRecord], size_max: int
) -> Iterator[list[Encoded]]:
    """The records, encoded, as many at a time as a batch of ``size_max`` takes."""
    some: list[Encoded] = []
    size = 0
    for record in records:
        key, value = record.encode()
        record_size = len(key) + len(value or b"") + _RECORD_RESERVE
        if some and size + record_size > size_max - BATCH_RESERVE:
            yield some
            some, size = [], 0
        some.append((record, key, value))
        size += record_size
    yield some


def in_segments(
    batches: list[tuple[list[Encoded], memoryview]], segment_bytes: int
) -> Iterator[list[tuple[list[Encoded], memoryview]]]:
    """The batches, as many at a time as a segment takes: mostly all of them."""
    some: list[tuple[list[Encoded], memoryview]] = []
    size = 0
    for each in batches:
        if some and size + len(each[1]) > segment_bytes:
            yield some
            some, size = [], 0
        some.append(each)
        size += len(each[1])
    yield some


def batch_of(
    some: Sequence[Encoded], producer: ProducerIdentity | None, now_ms: int
) -> memoryview:
    """The batch of these records; one with a producer is part of its transaction."""
    identity = producer or NOBODY
    batch = build_batch(
        [_new(NewRecord, (key, value, now_ms, ())) for _, key, value in some],
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=0,  # coordinators do not count
        is_transactional=producer is not None,
    )
    return memoryview(batch)  # as requests bring them: what the log checks fastest


def batch_of_one(key: bytes, value: bytes | None, now_ms: int) -> memoryview:
    """`batch_of` of one record of nobody, as most decisions write: a tenth of the time.

    What stands before the value is mostly known; what differs is put into a copy.
    """
    # A client may choose ids of 32 KB: such keys are not kept.
    is_kept = len(key) <= _KEPT_KEY_SIZE_MAX
    before = _known_before_value if is_kept else _before_value
    if value is None:
        batch = bytearray(before(key, -1) + _NO_HEADERS)
    else:
        batch = bytearray(before(key, len(value)) + value + _NO_HEADERS)
    _TIMES.pack_into(batch, _TIMES_POSITION, now_ms, now_ms)
    view = memoryview(batch)
    _CRC.pack_into(batch, _CRC_POSITION, crc32c(view[CHECKED_POSITION:]))
    return view


def _before_value(key: bytes, value_size: int) -> bytes:
    """A batch of one record up to its value; of a tombstone the size is -1."""
    start = b"".join(
        (_NO_DELTAS, encode_varint(len(key)), key, encode_varint(value_size))
    )
    size = len(start) + max(0, value_size) + len(_NO_HEADERS)
    batch = bytearray(_TEMPLATE)
    batch += encode_varint(size)
    _LENGTH.pack_into(batch, _LENGTH_POSITION, len(batch) + size - LOG_OVERHEAD)
    return bytes(batch + start)


_known_before_value = lru_cache(_KEYS_KEPT)(_before_value)


def marker_batch(
    producer: ProducerIdentity, is_commit: bool, coordinator_epoch: int, now_ms: int
) -> bytearray:
    """The batch that ends a producer's transaction."""
    kind = ControlType.COMMIT if is_commit else ControlType.ABORT
    marker = EndTxnMarker(kind, coordinator_epoch)
    return build_marker_batch(marker, *producer, now_ms)
