"""The header of a record batch: what a broker reads and writes without opening it.

======== ======= ======================== =========================================
position type    field                    remark
======== ======= ======================== =========================================
0        int64   base_offset              given by the broker
8        int32   batch_length             bytes after this field
12       int32   partition_leader_epoch   given by the broker
16       int8    magic                    2
17       uint32  crc                      CRC-32C of everything after it
21       int16   attributes               bits 0-2 codec, 3 log append time,
                                          4 transactional, 5 control,
                                          6 base_timestamp is a delete horizon
23       int32   last_offset_delta
27       int64   base_timestamp
35       int64   max_timestamp
43       int64   producer_id              -1 none
51       int16   producer_epoch           -1 none
53       int32   base_sequence            -1 none
57       int32   records_count            lower than the offsets after compaction
61               records                  compressed together, or not
======== ======= ======================== =========================================

The checksum leaves out the offset and the epoch, so that a broker gives both in
place; a change of timestamps needs a new one.
"""

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final, NamedTuple

from .checksum import crc32c
from .errors import CorruptMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

LOG_OVERHEAD: Final = 12
BATCH_OVERHEAD: Final = 61
CURRENT_MAGIC: Final = 2

COMPRESSION_NONE: Final = 0
COMPRESSION_GZIP: Final = 1
COMPRESSION_SNAPPY: Final = 2
COMPRESSION_LZ4: Final = 3
COMPRESSION_ZSTD: Final = 4
CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

COMPRESSION_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
HAS_DELETE_HORIZON: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

_HEADER = Struct(">qiibIhiqqqhii")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")
_LENGTH = Struct(">i")

_LENGTH_POSITION = 8
_LEADER_EPOCH_POSITION = 12
_CRC_POSITION = 17
_ATTRIBUTES_POSITION = 21
ATTRIBUTES_LOW_POSITION: Final = 22  # of their low byte
CHECKED_POSITION: Final = 21  # from here on the checksum covers the batch
_MAX_TIMESTAMP_POSITION = 35

_BATCH_LENGTH_MIN = BATCH_OVERHEAD - LOG_OVERHEAD
_SEQUENCE_MAX = 2**31 - 1

# The fields of a `BatchHeader` as a bare tuple; struct.error without 61 bytes.
unpack_header = _HEADER.unpack_from

# NamedTuple's own constructor costs twice as much as the tuple.
_new = tuple.__new__


class BatchHeader(NamedTuple):
    """The fields of a batch, in the order of their bytes."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size(self) -> int:
        """The bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The offset of the last record, also when compaction removed it."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset behind the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 when the batch has none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return next_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> int:
        """The codec, 0 to 7; a stranger's batch may say 5, 6 or 7."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        """Whether every record's timestamp is ``max_timestamp``."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the records are the broker's own, such as an end marker."""
        return bool(self.attributes & CONTROL)

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer wrote the batch."""
        return self.producer_id >= 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may drop what deletes; stored in place of the base time."""
        if self.attributes & HAS_DELETE_HORIZON:
            return self.base_timestamp
        return None


def read_header(data: "Buffer", position: int = 0) -> BatchHeader:
    """The header at ``position``, as it stands: nothing is verified.

    Raises:
        CorruptMessage: fewer than 61 bytes are left.
    """
    try:
        fields = _HEADER.unpack_from(data, position)
    except StructError:
        raise CorruptMessage("A batch header is cut short.") from None
    return _new(BatchHeader, fields)


def compute_crc(batch: "Buffer", size: int) -> int:
    """The checksum that a batch of ``size`` bytes should carry."""
    return crc32c(memoryview(batch)[CHECKED_POSITION:size])


def check_crc(batch: "Buffer", header: BatchHeader) -> bool:
    """Whether ``batch`` is whole and has the checksum that its header says."""
    size = header.batch_length + LOG_OVERHEAD
    view = memoryview(batch)
    if not BATCH_OVERHEAD <= size <= len(view):
        return False
    return crc32c(view[CHECKED_POSITION:size]) == header.crc


def stamp(batch: "Buffer", base_offset: int, leader_epoch: int) -> None:
    """Give a batch its place in the log; the checksum does not cover it."""
    _BASE_OFFSET.pack_into(batch, 0, base_offset)
    _LEADER_EPOCH.pack_into(batch, _LEADER_EPOCH_POSITION, leader_epoch)


def stamp_base_offset(batch: "Buffer", base_offset: int) -> None:
    """Say where a batch begins; the checksum does not cover that."""
    _BASE_OFFSET.pack_into(batch, 0, base_offset)


_PLACE = Struct(">qii")  # base offset, length, leader epoch


def stamp_sized(
    batch: "Buffer", base_offset: int, size: int, leader_epoch: int
) -> None:
    """`stamp` a batch of which it is known that it has that ``size``."""
    _PLACE.pack_into(batch, 0, base_offset, size - LOG_OVERHEAD, leader_epoch)


def restamp_time(batch: "Buffer", attributes: int, max_timestamp: int) -> None:
    """Change attributes and maximum timestamp of one whole batch, and its checksum."""
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_POSITION, attributes)
    _MAX_TIMESTAMP.pack_into(batch, _MAX_TIMESTAMP_POSITION, max_timestamp)
    restamp_crc(batch)


def restamp_crc(batch: "Buffer") -> None:
    """Give one whole batch the checksum of its bytes as they are now."""
    (length,) = _LENGTH.unpack_from(batch, _LENGTH_POSITION)
    _CRC.pack_into(batch, _CRC_POSITION, compute_crc(batch, length + LOG_OVERHEAD))


def pack_header(batch: "Buffer", header: BatchHeader) -> None:
    """Write a header over the first 61 bytes, its checksum as it stands."""
    _HEADER.pack_into(batch, 0, *header)


def next_sequence(sequence: int, increment: int) -> int:
    """The sequence ``increment`` further on; 0 follows 2147483647."""
    if sequence > _SEQUENCE_MAX - increment:
        return increment - (_SEQUENCE_MAX - sequence) - 1
    return sequence + increment


def scan(data: "Buffer") -> "Iterator[tuple[int, BatchHeader]]":
    """Yield the position and header of every whole batch; a cut last one ends it.

    Raises:
        CorruptMessage: a length that no batch can have.
    """
    view = memoryview(data)
    position, end = 0, len(view)
    unpack, unpack_length = _HEADER.unpack_from, _LENGTH.unpack_from
    while end - position >= LOG_OVERHEAD:
        (length,) = unpack_length(view, position + _LENGTH_POSITION)
        if length < _BATCH_LENGTH_MIN:
            raise CorruptMessage(
                f"A batch at position {position} says that it has {length} bytes."
            )
        next_position = position + LOG_OVERHEAD + length
        if next_position > end:
            return
        yield position, _new(BatchHeader, unpack(view, position))
        position = next_position


def codec_name(codec: int) -> str:
    """Kafka's name of a codec: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``."""
    return CODEC_NAMES[codec]


def codec_id(name: str) -> int:
    """The number of a codec's name; ValueError for any other."""
    if name not in CODEC_NAMES:
        raise ValueError(f"{name!r} is not a codec of record batches")
    return CODEC_NAMES.index(name)
