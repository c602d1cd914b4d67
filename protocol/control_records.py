"""Control records: what brokers write among the records of clients.

Key: version int16 (0), type int16. Value of an end-transaction marker: version int16
(0), coordinator_epoch int32. Later versions append fields, so longer ones are read
and the rest is left alone. A marker is one record in a batch of its own: transactional,
control, uncompressed, with the producer of the transaction and without a sequence.
"""

from enum import IntEnum
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, NamedTuple

from .checksum import crc32c
from .errors import InvalidRecord
from .record_batch import (
    CHECKED_POSITION,
    COMPRESSION_MASK,
    COMPRESSION_NONE,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
)
from .records import NewRecord, build_batch, iterate

if TYPE_CHECKING:
    from typing_extensions import Buffer

_KEY = Struct(">hh")
_END_TXN = Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """What a control record says. Only the first two end a transaction."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTxnMarker(NamedTuple):
    """The end of a producer's transaction in one partition."""

    control_type: ControlType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        """Whether the transaction was committed, not aborted."""
        return self.control_type is ControlType.COMMIT


# Header and record of a usual marker: batch_length, attributes and records_count; the
# record's length, attributes, deltas and key_length, then its key, value_length, value
# and header_count.
_USUAL = Struct(">8xi9xh34xi5shhchic")
MARKER_SIZE = _USUAL.size
_USUAL_HEADER = (MARKER_SIZE - LOG_OVERHEAD, 1, COMPRESSION_NONE)
_USUAL_RECORD = (b"\x20\0\0\0\x08", b"\x0c", b"\0")
_ENDS = (ControlType.ABORT, ControlType.COMMIT)

# What differs in the batches of two markers, and where it is.
_PLACE = Struct(">q")
_EPOCH, _EPOCH_POSITION = Struct(">i"), 12
_CRC, _CRC_POSITION = Struct(">I"), 17
_TIMES_AND_PRODUCER, _TIMES_POSITION = Struct(">qqqh"), 27
_SAID, _SAID_POSITION = Struct(">hchi"), 68  # control type, length, version, epoch
_END_LENGTH = _USUAL_RECORD[1]
_TEMPLATE = bytes(
    build_batch(
        [NewRecord(bytes(_KEY.size), bytes(_END_TXN.size), timestamp=0)],
        is_transactional=True,
        is_control=True,
    )
)


def encode_key(control_type: ControlType) -> bytes:
    """The key of a control record."""
    return _KEY.pack(_VERSION, control_type)


def decode_key(key: "Buffer | None") -> ControlType | None:
    """The type in the key of a control record; None for one that is unknown yet.

    Raises:
        InvalidRecord: no key, a short one, or a negative version.
    """
    version, control_type = _unpack(_KEY, key, "key")
    if version < 0:
        raise InvalidRecord(f"A control record has a key of version {version}.")
    try:
        return ControlType(control_type)
    except ValueError:
        return None


def encode_value(coordinator_epoch: int) -> bytes:
    """The value of an end-transaction marker."""
    return _END_TXN.pack(_VERSION, coordinator_epoch)


def decode_value(value: "Buffer | None") -> int:
    """The coordinator epoch in the value of an end-transaction marker.

    Raises:
        InvalidRecord: no value, a short one, or a negative version.
    """
    version, coordinator_epoch = _unpack(_END_TXN, value, "value")
    if version < 0:
        raise InvalidRecord(f"An end marker has a value of version {version}.")
    return coordinator_epoch


def read_marker(batch: "Buffer") -> EndTxnMarker | None:
    """The marker in a control batch; None when it says something else, or nothing.

    Raises:
        CorruptMessage: the batch is cut short.
        InvalidRecord: its record is no control record.
    """
    return _read_usual_marker(batch) or read_any_marker(batch)


def read_any_marker(batch: "Buffer") -> EndTxnMarker | None:
    """The same, for a batch of whatever form."""
    for record in iterate(batch):
        control_type = decode_key(record.key)
        if control_type is not None and control_type <= ControlType.COMMIT:
            return EndTxnMarker(control_type, decode_value(record.value))
        break
    return None


def _read_usual_marker(batch: "Buffer") -> EndTxnMarker | None:
    """The marker in a batch as every broker builds it; None for another one.

    A quarter of the time, and the log reads each marker three times.
    """
    view = memoryview(batch)
    if len(view) != MARKER_SIZE:
        return None
    length, attributes, count, start, version, control_type, between, *value, end = (
        _USUAL.unpack_from(view)
    )
    value_version, coordinator_epoch = value
    if (
        (length, count, attributes & COMPRESSION_MASK) != _USUAL_HEADER
        or (start, between, end) != _USUAL_RECORD
        or version < 0
        or value_version < 0
        or not 0 <= control_type <= ControlType.COMMIT
    ):
        return None
    return EndTxnMarker(_ENDS[control_type], coordinator_epoch)


def build_marker_batch(
    marker: EndTxnMarker,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """The batch that ends a transaction of ``producer_id``.

    With transaction.version 2 the epoch is one above that of the transaction's data.
    """
    batch = bytearray(_TEMPLATE)
    _PLACE.pack_into(batch, 0, base_offset)
    _EPOCH.pack_into(batch, _EPOCH_POSITION, leader_epoch)
    _TIMES_AND_PRODUCER.pack_into(
        batch, _TIMES_POSITION, timestamp, timestamp, producer_id, producer_epoch
    )
    _SAID.pack_into(
        batch, _SAID_POSITION, marker.control_type, _END_LENGTH, _VERSION, marker[1]
    )
    _CRC.pack_into(batch, _CRC_POSITION, crc32c(memoryview(batch)[CHECKED_POSITION:]))
    return batch


def _unpack(layout: Struct, data: "Buffer | None", name: str) -> tuple[int, int]:
    try:
        first, second = layout.unpack_from(b"" if data is None else data)
    except StructError:
        raise InvalidRecord(f"The {name} of a control record is cut short.") from None
    return first, second
