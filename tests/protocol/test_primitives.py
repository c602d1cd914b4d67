import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import MalformedRequest
from odradek.protocol.primitives import (
    NO_TAGS,
    read_unsigned_varint,
    skip_tags,
    unsigned_varint,
    write_tags,
)
from tests.plain import message_codec

UINT32 = st.integers(0, (1 << 32) - 1)


@given(UINT32 | st.integers(0, 300))
def test_varint_round_trip_and_twin(value: int) -> None:
    encoded = unsigned_varint(value)
    assert encoded == message_codec.varint(value)
    assert read_unsigned_varint(b"\xff" + encoded + b"\xff", 1) == (
        value,
        1 + len(encoded),
    )


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (0xFFFFFFFF, "ffffffff0f")],
)
def test_varint_is_kafkas(value: int, encoded: str) -> None:
    assert unsigned_varint(value).hex() == encoded


def test_varint_of_six_bytes_is_malformed() -> None:
    with pytest.raises(MalformedRequest, match="5 bytes"):
        read_unsigned_varint(b"\x80\x80\x80\x80\x80\x00", 0)


def test_varint_above_32_bits_is_malformed() -> None:
    with pytest.raises(MalformedRequest, match="32 bits"):
        read_unsigned_varint(b"\xff\xff\xff\xff\x1f", 0)


def test_varint_that_is_cut_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        read_unsigned_varint(b"\x80", 0)


@given(st.dictionaries(UINT32, st.binary(max_size=200), max_size=4))
def test_tags_are_written_rising_and_skipped_whole(tags: dict[int, bytes]) -> None:
    out = bytearray(b"before")
    write_tags(out, tags)
    varint = message_codec.varint
    expected = varint(len(tags)) + b"".join(
        varint(tag) + varint(len(value)) + value for tag, value in sorted(tags.items())
    )
    assert out == b"before" + expected
    assert skip_tags(bytes(out) + b"after", 6) == len(out)


def test_tag_beyond_the_end_is_malformed() -> None:
    with pytest.raises(MalformedRequest):
        skip_tags(b"\x01\x00\x05abcd", 0)


def test_shared_empty_tags_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        NO_TAGS[0] = b""  # type: ignore[index]
