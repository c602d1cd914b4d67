import contextlib
import gzip
import subprocess
import sys
from pathlib import Path
from random import Random
from struct import pack

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.compression import DECOMPRESSED_SIZE_MAX, compress, decompress
from odradek.protocol.errors import CorruptMessage, InvalidRecord, MessageTooLarge

MIB = 1 << 20
JSON = b"".join(b'{"id": %d, "name": "user-%d"}' % (i, i % 17) for i in range(1000))
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
EACH_CODEC = pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
# Size fields that lie: 2**40 bytes.
ZSTD_SIZE_LIE = b"\x28\xb5\x2f\xfd\xe0" + pack("<Q", 1 << 40) + b"\x01\x00\x00"
LZ4_LIE_HASH = 0xB7


def random_bytes(size: int) -> bytes:
    return Random(1).randbytes(size)


def raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def lz4_frame(data: bytes, **options: bool) -> bytes:
    compressor = cramjam.lz4.Compressor(level=1, **options)
    compressor.compress(data)
    return bytes(compressor.finish())


def lz4_hello(content_size: int, header_hash: int) -> bytes:
    """A frame of one uncompressed block that says its size."""
    frame = bytes.fromhex("04224d18 68 40") + pack("<QB", content_size, header_hash)
    return frame + pack("<I", 5 | 1 << 31) + b"hello" + pack("<I", 0)


def zstd_of_large_window(size: int) -> bytes:
    """Blocks of one repeated byte, which need a window of 128 MiB, and some padding."""
    block = b"\x02\x00\x10x"  # 128 KiB
    padding = b"\x50\x2a\x4d\x18" + pack("<I", 128 << 10) + bytes(128 << 10)
    end = b"\x03\x00\x00x"
    return b"\x28\xb5\x2f\xfd\x00\x88" + block * (size >> 17) + end + padding


@given(st.integers(0, 4), st.binary(max_size=300), st.integers(1, 400))
def test_round_trip(codec: int, seed: bytes, times: int) -> None:
    data = seed * times
    assert decompress(codec, compress(codec, data)) == data


@EACH_CODEC
@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_round_trip_of_large_data(codec: int, size: int) -> None:
    data = (JSON * 7)[: size // 4] + bytes(size // 4) + random_bytes(size // 2)
    assert decompress(codec, compress(codec, data)) == data


@EACH_CODEC
def test_views_are_as_good_as_bytes(codec: int) -> None:
    data = memoryview(bytearray(b"xx" + JSON))[2:]
    sent = memoryview(bytearray(b"xx" + compress(codec, data)))[2:]
    assert decompress(codec, sent) == JSON


def test_without_a_codec_nothing_is_copied() -> None:
    data = bytearray(b"records")
    view = decompress(NONE, data)
    data[0] = ord("R")
    assert bytes(view) == b"Records"
    assert compress(NONE, data) == b"Records"


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist(codec: int) -> None:
    with pytest.raises(InvalidRecord, match=f"no compression codec {codec}"):
        decompress(codec, b"data")
    with pytest.raises(InvalidRecord, match=f"no compression codec {codec}"):
        compress(codec, b"data")


@pytest.mark.parametrize(("codec", "kafkas_default"), [(GZIP, -1), (LZ4, 9), (ZSTD, 3)])
def test_kafkas_default_level_is_the_default(codec: int, kafkas_default: int) -> None:
    assert compress(codec, JSON, kafkas_default) == compress(codec, JSON)


@pytest.mark.parametrize(("codec", "high"), [(GZIP, 9), (LZ4, 12), (ZSTD, 19)])
def test_higher_levels_are_smaller(codec: int, high: int) -> None:
    assert len(compress(codec, JSON, high)) < len(compress(codec, JSON, 1))
    assert decompress(codec, compress(codec, JSON, high)) == JSON


def test_gzip_of_several_members() -> None:
    both = gzip.compress(JSON) + gzip.compress(b"and more")
    assert decompress(GZIP, both) == JSON + b"and more"


def test_snappy_is_read_raw_and_framed() -> None:
    assert decompress(SNAPPY, raw_snappy(JSON)) == JSON
    framed = compress(SNAPPY, JSON)
    assert framed[:16] == b"\x82SNAPPY\x00" + pack(">ii", 1, 1)
    assert decompress(SNAPPY, framed) == JSON


def test_snappy_is_written_in_blocks_of_32_kib() -> None:
    framed = compress(SNAPPY, bytes(70_000))
    sizes, position = [], 16
    while position < len(framed):
        size = int.from_bytes(framed[position : position + 4], "big")
        block = framed[position + 4 : position + 4 + size]
        sizes.append(cramjam.snappy.decompress_raw_len(block))
        position += 4 + size
    assert sizes == [32768, 32768, 4464]


@pytest.mark.parametrize("content_checksum", [True, False])
def test_lz4_frames_of_other_makers(content_checksum: bool) -> None:
    frame = lz4_frame(JSON, content_checksum=content_checksum, block_linked=False)
    assert decompress(LZ4, frame) == JSON


def test_lz4_frame_with_content_size() -> None:
    assert decompress(LZ4, lz4_hello(5, header_hash=0x61)) == b"hello"
    with pytest.raises(CorruptMessage, match="headerChecksum"):
        decompress(LZ4, lz4_hello(5, header_hash=0x62))


def test_lz4_of_linked_blocks_is_refused() -> None:
    linked = lz4_frame(JSON * 10, block_linked=True)
    assert bytes(cramjam.lz4.decompress(linked)) == JSON * 10
    with pytest.raises(CorruptMessage, match="independent blocks"):
        decompress(LZ4, linked)


def test_second_lz4_frame_is_refused() -> None:
    frame = compress(LZ4, JSON)
    with pytest.raises(CorruptMessage, match="bytes behind its frame"):
        decompress(LZ4, frame + frame)


def test_empty_lz4_block_is_refused() -> None:
    # Kafka's reader takes it for the end.
    frame = compress(LZ4, JSON)
    with pytest.raises(CorruptMessage, match="an empty block"):
        decompress(LZ4, frame[:-4] + b"\0\0\0\x80" + frame[-4:])


def test_zstd_with_and_without_content_size() -> None:
    stream = cramjam.zstd.Compressor()
    stream.compress(JSON)
    without_size = bytes(stream.finish())
    assert without_size[4] >> 6 == 0
    assert decompress(ZSTD, without_size) == JSON
    assert decompress(ZSTD, bytes(cramjam.zstd.compress(JSON))) == JSON


@EACH_CODEC
def test_data_behind_the_end_are_corrupt(codec: int) -> None:
    for tail in (b"\0", b"garbage behind the end", bytes(100)):
        with pytest.raises(CorruptMessage):
            decompress(codec, compress(codec, JSON) + tail)


@EACH_CODEC
def test_data_cut_anywhere_are_corrupt(codec: int) -> None:
    sent = compress(codec, b"some records, some records " * 9)
    whole = 16 if codec == SNAPPY else None  # a frame of no blocks is a frame
    for size in range(len(sent)):
        if size != whole:
            with pytest.raises(CorruptMessage):
                decompress(codec, sent[:size])


@EACH_CODEC
def test_data_of_another_codec_are_corrupt(codec: int) -> None:
    for other in {GZIP, SNAPPY, LZ4, ZSTD} - {codec}:
        with pytest.raises((CorruptMessage, MessageTooLarge)):
            decompress(codec, compress(other, JSON))


@EACH_CODEC
@given(st.data())
def test_changed_data_are_refused_or_read(codec: int, data: st.DataObject) -> None:
    sent = bytearray(compress(codec, JSON[:2000]))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(sent) - 1))
        sent[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptMessage, MessageTooLarge):
        assert len(decompress(codec, sent)) < 10 * MIB


@EACH_CODEC
def test_limit_is_exact(codec: int) -> None:
    sent = compress(codec, JSON)
    assert decompress(codec, sent, limit=len(JSON)) == JSON
    with pytest.raises(MessageTooLarge, match=f"the limit of {len(JSON) - 1} bytes"):
        decompress(codec, sent, limit=len(JSON) - 1)


@EACH_CODEC
@pytest.mark.parametrize("size", [4 * MIB, DECOMPRESSED_SIZE_MAX])
def test_what_is_all_alike_may_become_any_number_of_times_smaller(
    codec: int, size: int
) -> None:
    sent = compress(codec, bytes(size))
    assert decompress(codec, sent) == bytes(size)
    with pytest.raises(MessageTooLarge):
        decompress(codec, sent, limit=size - 1)


def bombs() -> dict[str, tuple[str, bytes]]:
    """Small data that become large, or only say so."""
    zeros = bytes(8 * MIB)
    snappy_block = raw_snappy(zeros)
    xerial_header = compress(SNAPPY, b"")
    lz4 = compress(LZ4, zeros)
    lz4_start, lz4_blocks, lz4_end = lz4[:7], lz4[7:-4], lz4[-4:]
    return {
        "gzip": ("gzip", gzip.compress(zeros, 9) * 16),
        "gzip-size-lie": ("gzip", gzip.compress(b"x")[:-4] + b"\xff" * 4),
        "zstd-frames": ("zstd", compress(ZSTD, zeros) * 5000),
        "zstd-frame": ("zstd", compress(ZSTD, zeros * 16)),
        "zstd-window": ("zstd", zstd_of_large_window(size=256 * MIB)),
        "zstd-size-lie": ("zstd", ZSTD_SIZE_LIE),
        "snappy": (
            "snappy",
            xerial_header + (pack(">I", len(snappy_block)) + snappy_block) * 16,
        ),
        "snappy-size-lie": ("snappy", b"\xff\xff\xff\xff\x0f" + b"\x00x"),
        "snappy-block-lie": ("snappy", xerial_header + b"\xff\xff\xff\xff\x00x"),
        "lz4": ("lz4", lz4_start + lz4_blocks * 16 + lz4_end),
        "lz4-size-lie": ("lz4", lz4_hello(1 << 40, LZ4_LIE_HASH)),
        "lz4-empty-blocks": ("lz4", lz4_start + b"\0\0\0\x80" * 300_000 + lz4_end),
    }


BOMBS = (
    *("gzip", "gzip-size-lie", "lz4", "lz4-size-lie", "lz4-empty-blocks"),
    *("zstd-frames", "zstd-frame", "zstd-window", "zstd-size-lie"),
    *("snappy", "snappy-size-lie", "snappy-block-lie"),
)
BOMB_LIMITS = [4 * MIB, DECOMPRESSED_SIZE_MAX]

# Each in a process of its own, forked from one that has loaded all there is to load.
MEASURE = """
import os
import sys
from pathlib import Path
from odradek.protocol.compression import compress, decompress
from odradek.protocol.record_batch import codec_id
from odradek.protocol.errors import CorruptMessage, MessageTooLarge

def peak():
    # Not ru_maxrss, which begins with that of the parent.
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10

def measure(path, codec, limit):
    data = path.read_bytes()
    before = peak()
    try:
        outcome = "read", len(decompress(codec, data, limit))
    except (CorruptMessage, MessageTooLarge) as error:
        outcome = type(error).__name__,
    print(path.name, limit, *outcome, peak() - before, flush=True)

for name in "gzip", "snappy", "lz4", "zstd":
    codec = codec_id(name)
    decompress(codec, compress(codec, b"the library is loaded before it is measured"))
for path in sorted(Path(sys.argv[1]).iterdir()):
    for limit in map(int, sys.argv[2:]):
        if (child := os.fork()) == 0:
            measure(path, codec_id(path.suffix[1:]), limit)
            os._exit(0)
        os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def bomb_costs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """What came of each bomb with each limit, and the MiB that this took."""
    folder = tmp_path_factory.mktemp("bombs")
    made = bombs()
    assert set(made) == set(BOMBS)
    for name, (codec, data) in made.items():
        (folder / f"{name}.{codec}").write_bytes(data)
    limits = [str(limit) for limit in BOMB_LIMITS]
    command = [sys.executable, "-c", MEASURE, str(folder), *limits]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return {(Path(file).stem, int(limit)): cost for file, limit, cost in lines}


@pytest.mark.parametrize("limit", BOMB_LIMITS)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_cost_no_more_than_the_limit(
    name: str, limit: int, bomb_costs: dict[tuple[str, int], str]
) -> None:
    outcome, grown_mib = bomb_costs[name, limit].rsplit(maxsplit=1)
    assert outcome in {"CorruptMessage", "DecompressedTooLarge"}
    # The output, a block or two, and with zstd a window as large as the output.
    windows = 2 if name.startswith("zstd") else 1
    assert int(grown_mib) <= windows * limit // MIB + 8
