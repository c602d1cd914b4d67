"""The codecs of record batches: gzip, snappy, lz4 and zstd.

Whoever sends a batch also chooses how large it becomes, so nothing is decompressed
without a limit. What the data say of their size is a hint; memory is taken for what
they really hold. How many times smaller they have become says nothing: of equal bytes,
zstd makes one in 32,768.

Kafka's Java client is the reader to please: it takes one LZ4 frame of independent
blocks and nothing behind it, and snappy raw or in the framing of xerial's library.
What it could not read is refused here as corrupt, whatever our library can do.
"""

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Final

from .errors import CorruptMessage, InvalidRecord, MessageTooLarge
from .record_batch import (
    CODEC_NAMES,
    COMPRESSION_GZIP,
    COMPRESSION_LZ4,
    COMPRESSION_NONE,
    COMPRESSION_SNAPPY,
    COMPRESSION_ZSTD,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

DECOMPRESSED_SIZE_MAX: Final = 64 << 20
# What a log took once is read, whatever its limit is or was.
STORED_SIZE_MAX: Final = 1 << 30

# What a topic's compression.*.level says when nobody has chosen. For lz4 Kafka's
# library then takes its fast compressor; 9 for any other reader is a slow one.
KAFKA_DEFAULT_LEVELS: Final = {
    COMPRESSION_GZIP: -1,
    COMPRESSION_LZ4: 9,
    COMPRESSION_ZSTD: 3,
}
_DEFAULT_LEVELS = {COMPRESSION_GZIP: 6, COMPRESSION_LZ4: 1, COMPRESSION_ZSTD: 3}

_FIRST_SIZE_MIN = 4096
_USUAL_RATIO = 8
# Clearing more than that, perhaps for nothing, takes longer than asking for a map.
_BYTEARRAY_SIZE_MAX = 1 << 20
# The only sentence of cramjam (of Rust's io::Write) that asks for a larger output.
_OUTPUT_TOO_SMALL = "failed to write whole buffer"

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_SIZE = 32 << 10

_BIG_UINT32 = Struct(">I")
_LITTLE_UINT32 = Struct("<I")
_LITTLE_UINT64 = Struct("<Q")
_LZ4_START = Struct("<IBB")  # magic, flags, block descriptor

_LZ4_MAGIC = 0x184D2204
_LZ4_VERSION_MASK, _LZ4_VERSION_1 = 0xC0, 0x40
_LZ4_INDEPENDENT_BLOCKS = 0x20
_LZ4_BLOCK_CHECKSUM = 0x10
_LZ4_CONTENT_SIZE = 0x08
_LZ4_CONTENT_CHECKSUM = 0x04
_LZ4_DICTIONARY = 0x01
_LZ4_UNCOMPRESSED_BLOCK = 1 << 31


class DecompressedTooLarge(MessageTooLarge):
    """The records of a batch unpack to more than they may."""


def decompress(
    codec: int, data: "Buffer", limit: int = DECOMPRESSED_SIZE_MAX
) -> memoryview:
    """The records inside ``data``; ``data`` itself without a codec.

    Raises:
        CorruptMessage: not what the codec writes, or more than that.
        DecompressedTooLarge: more than ``limit`` bytes.
        InvalidRecord: there is no such codec.
    """
    view = memoryview(data)
    if codec == COMPRESSION_NONE:
        return view
    try:
        if codec == COMPRESSION_SNAPPY:
            return _decompress_snappy(view, limit)
        if codec == COMPRESSION_LZ4:
            return _decompress_within(codec, view, _lz4_size_hint(view), limit)
        if codec == COMPRESSION_GZIP:
            return _decompress_within(codec, view, _gzip_size_hint(view), limit)
        if codec == COMPRESSION_ZSTD:
            return _decompress_within(codec, view, _USUAL_RATIO * len(view), limit)
    except StructError:
        raise CorruptMessage(_corrupt(codec, "cut short")) from None
    raise InvalidRecord(f"There is no compression codec {codec}.")


def compress(codec: int, data: "Buffer", level: int | None = None) -> bytes:
    """``data`` as clients expect it of a codec.

    Without ``level``, or with the one that Kafka calls the default, the codec's usual
    one; snappy has none.

    Raises:
        InvalidRecord: there is no such codec.
    """
    if codec == COMPRESSION_NONE:
        return bytes(data)
    if codec == COMPRESSION_SNAPPY:
        return b"".join(_xerial_pieces(memoryview(data)))
    if codec not in _DEFAULT_LEVELS:
        raise InvalidRecord(f"There is no compression codec {codec}.")
    if level is None or level == KAFKA_DEFAULT_LEVELS[codec]:
        level = _DEFAULT_LEVELS[codec]
    return _compress_at(codec, data, level)


def _compress_at(codec: int, data: "Buffer", level: int) -> bytes:
    # Imported where it is used: a broker without compressed topics starts without.
    import cramjam

    if codec == COMPRESSION_GZIP:
        return bytes(cramjam.gzip.compress(data, level=level))
    if codec == COMPRESSION_ZSTD:
        return bytes(cramjam.zstd.compress(data, level=level))
    lz4 = cramjam.lz4.Compressor(
        level=level, content_checksum=False, block_linked=False
    )
    lz4.compress(bytes(data))  # it takes nothing else
    return bytes(lz4.finish())


def _decompress_within(
    codec: int, data: memoryview, size_hint: int, limit: int
) -> memoryview:
    """Decompress into as much as should do; else, once more, into all of the limit."""
    import cramjam

    library = getattr(cramjam, CODEC_NAMES[codec])
    first_size = min(max(size_hint, _FIRST_SIZE_MIN), limit)
    for size in sorted({first_size, limit}):
        output = _room(size)
        try:
            return output[: library.decompress_into(data, output)]
        except cramjam.DecompressionError as error:
            if _OUTPUT_TOO_SMALL not in str(error):
                raise CorruptMessage(_corrupt(codec, str(error))) from None
    raise DecompressedTooLarge(_too_large(codec, len(data), limit))


def _room(size: int) -> memoryview:
    """So many writable bytes; many of them take memory only where they are written."""
    if size <= _BYTEARRAY_SIZE_MAX:
        return memoryview(bytearray(size))
    return memoryview(mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS))


def _gzip_size_hint(data: memoryview) -> int:
    """The size of the last member, modulo 2**32: right for everything honest."""
    size: int = _LITTLE_UINT32.unpack_from(data, max(len(data) - 4, 0))[0]
    return size


def _lz4_size_hint(data: memoryview) -> int:
    """The most that the frame can hold, after a look at all of its structure.

    Raises:
        CorruptMessage: not exactly one frame of independent blocks.
    """
    magic, flags, descriptor = _LZ4_START.unpack_from(data)
    if (
        magic != _LZ4_MAGIC
        or flags & _LZ4_VERSION_MASK != _LZ4_VERSION_1
        or not flags & _LZ4_INDEPENDENT_BLOCKS
        or flags & _LZ4_DICTIONARY
    ):
        raise CorruptMessage(
            _corrupt(COMPRESSION_LZ4, "not a frame of independent blocks")
        )
    position = _LZ4_START.size + 1
    if flags & _LZ4_CONTENT_SIZE:
        position += _LITTLE_UINT64.size
    between = _LITTLE_UINT32.size if flags & _LZ4_BLOCK_CHECKSUM else 0
    count = 0
    while True:
        (size,) = _LITTLE_UINT32.unpack_from(data, position)
        position += _LITTLE_UINT32.size
        if size == 0:
            break
        if size == _LZ4_UNCOMPRESSED_BLOCK:
            raise CorruptMessage(_corrupt(COMPRESSION_LZ4, "an empty block"))
        position += (size & ~_LZ4_UNCOMPRESSED_BLOCK) + between
        count += 1
    if flags & _LZ4_CONTENT_CHECKSUM:
        position += _LITTLE_UINT32.size
    if position != len(data):
        raise CorruptMessage(_corrupt(COMPRESSION_LZ4, "bytes behind its frame"))
    block_size_max: int = 1 << 8 + 2 * (descriptor >> 4 & 7)
    return count * block_size_max


def _decompress_snappy(data: memoryview, limit: int) -> memoryview:
    """Snappy says in front how large a block becomes, so one output is enough."""
    import cramjam

    try:
        blocks = list(_snappy_blocks(data))
        sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
        if sum(sizes) > limit:
            raise DecompressedTooLarge(_too_large(COMPRESSION_SNAPPY, len(data), limit))
        output = _room(sum(sizes))
        position = 0
        for block, size in zip(blocks, sizes, strict=True):
            cramjam.snappy.decompress_raw_into(
                block, output[position : position + size]
            )
            position += size
    except cramjam.DecompressionError as error:
        raise CorruptMessage(_corrupt(COMPRESSION_SNAPPY, str(error))) from None
    return output


def _snappy_blocks(data: memoryview) -> "Iterator[memoryview]":
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        yield data
        return
    position = len(_XERIAL_HEADER)
    while position != len(data):
        (size,) = _BIG_UINT32.unpack_from(data, position)
        position += _BIG_UINT32.size
        if size > len(data) - position:
            raise CorruptMessage(_corrupt(COMPRESSION_SNAPPY, "a block is cut short"))
        yield data[position : position + size]
        position += size


def _xerial_pieces(data: memoryview) -> "Iterator[bytes]":
    import cramjam

    yield _XERIAL_HEADER
    for position in range(0, len(data), _XERIAL_BLOCK_SIZE):
        piece = data[position : position + _XERIAL_BLOCK_SIZE]
        block = bytes(cramjam.snappy.compress_raw(piece))
        yield _BIG_UINT32.pack(len(block))
        yield block


def _corrupt(codec: int, reason: str) -> str:
    return f"The {CODEC_NAMES[codec]} data of the batch are corrupt: {reason}."


def _too_large(codec: int, size: int, limit: int) -> str:
    return (
        f"The {size} bytes of {CODEC_NAMES[codec]} data hold more than the limit of "
        f"{limit} bytes."
    )
