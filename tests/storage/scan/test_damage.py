from pathlib import Path

from odradek.protocol.record_batch import stamp
from odradek.storage.scan.damage import DamagedPart, LogPlace, damaged_parts, is_zeros
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch

PATH = Path("/d/0.log")


def parts(
    data: bytes | bytearray, base: int = 10, next_offset: int = 20
) -> list[DamagedPart]:
    files = FakeFiles()
    files.put(PATH, bytes(data))
    place = LogPlace(base, next_offset)
    return list(damaged_parts(files.open(PATH), 0, len(data), place))


def moved(offset: int) -> bytearray:
    data = batch(0)
    stamp(data, offset, 0)
    return data


def test_every_byte_is_in_one_part() -> None:
    broken = batch(20)
    broken[70] ^= 1
    data = broken + moved(12) + bytes(100)
    found = parts(data)
    assert [(part.position, part.end) for part in found] == [
        (0, len(broken)),
        (len(broken), 2 * len(broken)),
        (2 * len(broken), len(data)),
    ]
    assert [part.reason for part in found] == [
        "the checksum is wrong",
        "offset 12 follows 19",
        "nothing but zeros",
    ]
    assert [part.has_valid_crc for part in found] == [False, True, False]
    assert [part.is_zeros for part in found] == [False, False, True]


def test_offsets_that_cannot_be_there() -> None:
    assert parts(moved(3))[0].reason == (
        "offset 3 is below 10, where the segment begins"
    )
    assert "too far from 10" in parts(moved(2**40))[0].reason
    assert "contradicts the batch that follows" in parts(moved(25))[0].reason


def test_what_is_no_batch() -> None:
    whole = batch(20)
    assert parts(whole[:11])[0].reason == "too short for the header of a batch"
    assert parts(whole[:-1])[0].reason == (
        f"a batch of {len(whole)} bytes, of which {len(whole) - 1} are here"
    )
    for magic, words in ((1, "magic 1, which Kafka 4"), (3, "known version: magic 3")):
        other = bytearray(whole)
        other[16] = magic
        assert words in parts(other)[0].reason
    assert parts(b"\xff" * 80)[0].reason == "no batch"
    assert parts(bytes(5))[0].reason == "too short for the header of a batch"


def test_zeros() -> None:
    files = FakeFiles()
    files.put(PATH, b"x" + bytes(9 << 20) + b"x")
    log = files.open(PATH)
    assert is_zeros(log, 1, log.size - 1)
    assert not is_zeros(log, 0, log.size - 1)
    assert not is_zeros(log, 1, log.size)
