"""The C walk, its plain twin and the format as described agree on any bytes."""

from array import array
from collections.abc import Callable
from random import Random
from types import ModuleType

import pytest
from hypothesis import example, given

from odradek.protocol.plain import records as records_plain
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    BatchHeader,
    pack_header,
    restamp_crc,
)
from tests.plain import records as described
from tests.plain.records import PlainRecord, write_record
from tests.protocol.record_payloads import INT64, anything, payloads

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)

Summary = tuple[int, int, int, int]
PLAIN_AND_FAST = pytest.mark.parametrize("walk", [records_plain, speedups])

ONE = write_record(PlainRecord(0, 5, 0, b"k", b"v", [(b"h", None)]))
FIVE_BYTE_ZERO = b"\x80\x80\x80\x80\x00"


def outcome(function: Callable[..., object], *arguments: object) -> object:
    """What a walk returns, or the sentence it raises."""
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


def described_outcome(payload: bytes, count: int, base: int) -> Summary | None:
    try:
        return described.summarize(payload, count, base)
    except described.MalformedError:
        return None


@given(anything, INT64)
@example((b"", 0), 0)
@example((ONE, 1), 2**63 - 1)
def test_summaries_agree(case: tuple[bytes, int], base: int) -> None:
    payload, count = case
    fast = outcome(speedups.summarize, payload, count, base)
    assert fast == outcome(records_plain.summarize, payload, count, base)
    wanted = described_outcome(payload, count, base)
    assert isinstance(fast, str) if wanted is None else fast == wanted


@given(anything)
def test_indexes_agree(case: tuple[bytes, int]) -> None:
    payload, count = case
    rows = [bytearray(48 * max(count, 0)) for _ in range(2)]
    fast = outcome(speedups.index_records, payload, count, rows[0])
    assert fast == outcome(records_plain.index_records, payload, count, rows[1])
    if fast is None:
        assert rows[0] == rows[1]


@given(payloads())
def test_index_leads_to_the_fields(case: tuple[bytes, int]) -> None:
    payload, count = case
    rows = array("q", bytes(48 * count))
    speedups.index_records(payload, count, rows)
    for place, record in enumerate(described.read_records(payload, count)):
        time, offset, key_at, key_len, value_at, value_len = rows[6 * place :][:6]
        assert (time, offset) == (record.timestamp_delta, record.offset_delta)
        for field, at, length in [
            (record.key, key_at, key_len),
            (record.value, value_at, value_len),
        ]:
            assert length == (-1 if field is None else len(field))
            assert payload[at : at + max(length, 0)] == (field or b"")


def record(*body: bytes) -> bytes:
    joined = b"".join(body)
    return bytes([2 * len(joined)]) + joined


@PLAIN_AND_FAST
@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b"\x80" * 7, "holds a number that is cut short"),
        (b"\x80\x80\x80\x80\x10" + bytes(9), "holds a number that is cut short"),
        (bytes(7), "holds a number that is cut short"),
        (b"\x01" + bytes(9), "is longer than what is left"),
        (b"\x0e" + bytes(6), "is longer than what is left"),
        (record(b"\0", b"\x80" * 9 + b"\x02", bytes(5)), "number that is cut short"),
        (record(b"\0", b"\x80" * 10 + b"\x00", bytes(5)), "number that is cut short"),
        (record(b"\0\0", b"\x80\x80\x80\x80\x10", bytes(5)), "number that is cut"),
        (record(b"\0\0\0", b"\x03", bytes(4)), "has a key length that does not fit"),
        (record(b"\0\0\0", b"\x0a", bytes(4)), "has a key length that does not fit"),
        (record(b"\0\0\0\0", b"\x03", bytes(4)), "has a value length"),
        (record(b"\0\0\0\0", b"\x0a", bytes(4)), "has a value length"),
        (record(b"\0\0\0\0\0", b"\x01"), "has a negative number of headers"),
        (record(b"\0\0\0\0\0", b"\x02"), "holds a number that is cut short"),
        (record(b"\0\0\0\0\0", b"\x02\x01\x00"), "has a header key length"),
        (record(b"\0\0\0\0\0", b"\x02\x08\x00"), "has a header key length"),
        (record(b"\0\0\0\0\0", b"\x02\x00\x08"), "has a header value length"),
        (record(b"\0\0\0\0\0", b"\x02\x00\x03"), "has a header value length"),
        (record(b"\0\0\0\0\0\0", b"extra"), "does not end where its length says"),
        (record(b"\1\0\0\0\0\0"), "has attributes other than 0"),
        (record(b"\0\0\2\0\0\0"), "has an offset delta other than its place"),
        (record(b"\0\0\1\0\0\0"), "has an offset delta other than its place"),
    ],
)
def test_each_rule_has_its_sentence(
    walk: ModuleType, payload: bytes, sentence: str
) -> None:
    assert len(payload) >= 7
    with pytest.raises(ValueError, match=f"^Record 0 of the batch .*{sentence}"):
        walk.summarize(payload, 1, 0)


@PLAIN_AND_FAST
def test_the_sentence_says_which_record(walk: ModuleType) -> None:
    first, second = record(b"\0\0\0\0\0\0"), record(b"\0\0\2\0\0\0")
    assert walk.summarize(first + second, 2, 0) == (0, 0, 0, 0)
    with pytest.raises(ValueError, match=r"^Record 2 of the batch has an offset"):
        walk.summarize(first + second + second, 3, 0)


@PLAIN_AND_FAST
@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1, 2**62])
def test_count_that_cannot_be(walk: ModuleType, count: int) -> None:
    with pytest.raises(ValueError, match=f"^The batch says {count} records, in 13 "):
        walk.summarize(bytes(13), count, 0)


@PLAIN_AND_FAST
def test_bytes_behind_the_last_record(walk: ModuleType) -> None:
    assert walk.summarize(ONE, 1, 0) == (5, 5, 0, 0)
    with pytest.raises(ValueError, match=r"^The batch has 1 bytes after its last"):
        walk.summarize(ONE + b"\0", 1, 0)
    with pytest.raises(ValueError, match=r"^The batch has 1 bytes after its last"):
        walk.summarize(b"\0", 0, 0)


@PLAIN_AND_FAST
def test_numbers_may_be_longer_than_they_must(walk: ModuleType) -> None:
    padded = record(b"\0", b"\x82" + b"\x80" * 8 + b"\x00", FIVE_BYTE_ZERO, bytes(3))
    assert walk.summarize(padded, 1, 10) == (11, 11, 0, 0)


@PLAIN_AND_FAST
def test_timestamps_wrap_as_in_java(walk: ModuleType) -> None:
    up = write_record(PlainRecord(0, 2**63 - 1, 0, None, None, []))
    down = write_record(PlainRecord(0, -(2**63), 0, None, None, []))
    assert walk.summarize(up, 1, 1)[:2] == (-(2**63), -(2**63))
    assert walk.summarize(down, 1, -1)[:2] == (2**63 - 1, 2**63 - 1)


@PLAIN_AND_FAST
def test_index_needs_room(walk: ModuleType) -> None:
    with pytest.raises(BufferError, match="six int64"):
        walk.index_records(ONE, 1, bytearray(47))


def test_wrong_arguments_are_type_errors() -> None:
    with pytest.raises(TypeError, match="2 arguments given, 3 wanted"):
        speedups.summarize(b"", 0)
    with pytest.raises(TypeError):
        speedups.summarize("text", 0, 0)
    with pytest.raises(TypeError):
        speedups.summarize(b"", "0", 0)
    with pytest.raises(TypeError):
        speedups.summarize(b"", 0, None)
    with pytest.raises(OverflowError):
        speedups.summarize(b"", 0, 2**63)
    with pytest.raises(BufferError):
        speedups.index_records(b"", 0, b"read only")
    with pytest.raises(TypeError, match="1 arguments given, 3 wanted"):
        speedups.index_records(b"")
    with pytest.raises(TypeError):
        speedups.index_records(b"", 1.5, bytearray())


def test_rows_may_be_anywhere_in_memory() -> None:
    rows = bytearray(49)
    speedups.index_records(memoryview(ONE), 1, memoryview(rows)[1:])
    assert memoryview(rows)[1:9].cast("B").tolist()[0] == 5


STRETCHES = 3 * 512  # what the checksum takes at once


@pytest.mark.parametrize(
    "size",
    [
        *range(20),
        *(
            STRETCHES * count + more
            for count in (1, 2, 7)
            for more in (-41, -40, -1, 0, 1, 9)
        ),
        100_000,
    ],
)
def test_checksums_are_those_of_the_library(size: int) -> None:
    """Any bytes will do behind the header: a walk over batches reads no record."""
    octets = Random(size).randbytes(size)
    header = BatchHeader(0, size + 49, 0, 2, 0, 0, 0, 5, 5, -1, -1, -1, 1)
    batch = bytearray(BATCH_OVERHEAD) + octets
    pack_header(batch, header)
    restamp_crc(batch)
    cells = array("q", bytes(64))
    assert speedups.walk_batches(batch, cells, 0, 9, True) == (1, len(batch))
    for position in {21, len(batch) // 2 + 11, len(batch) - 1}:
        changed = bytearray(batch)
        changed[position] ^= 0x10
        assert speedups.walk_batches(changed, cells, 0, 9, True) == (0, 0)
