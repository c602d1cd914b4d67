"""What the encoder writes, one rule at a time."""

import pytest

from odradek.protocol.compiler import encoder
from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Message,
    Struct,
    array,
    int8,
    int32,
    int64,
    records,
    since,
    string,
    struct,
    uuid,
)
from tests.protocol.sample_messages import Point


class Batches(Struct):
    batch: Buffer | None = records()


class Carrier(Message, versions=(0, 1), flexible=1):
    before: int = int8(default=5)
    parts: list[Batches] = array()


class Empty(Message, versions=(0, 1), flexible=1):
    later: int = int8(versions=since(2))


class Tags(Message, versions=(0, 2), flexible=1):
    state: Point = struct(tag=0, versions=since(1))
    high: int = int64(tag=1, default=-1, versions=since(1))
    late: int = int32(tag=2, versions=since(2))


class Hidden(Message, versions=(0, 0), flexible=0):
    parts: list[Batches] = array(tag=0)


class Texts(Message, versions=(0, 1), flexible=1):
    name: str = string()
    note: str | None = string(nullable=True)
    ids: list[int] = array(of=int32)
    topic_id: bytes = uuid()


def test_records_leave_as_the_callers_own_buffers() -> None:
    one, two = memoryview(b"one"), bytearray(b"two")
    carrier = Carrier(parts=[Batches(batch=one), Batches(batch=two)])
    buffers = encoder(Carrier, 1)(carrier)
    assert buffers[1] is one
    assert buffers[3] is two
    assert [bytes(buffer) for buffer in buffers] == [
        b"\x05\x03\x04",
        b"one",
        b"\0\x04",
        b"two",
        b"\0\0",
    ]


def test_nothing_is_left_behind_the_last_records() -> None:
    buffers = encoder(Carrier, 0)(Carrier(parts=[Batches(batch=b"z")]))
    assert [bytes(buffer) for buffer in buffers] == [
        b"\x05\0\0\0\x01\0\0\0\x01",
        b"z",
    ]


def test_null_and_empty_records_are_no_buffers() -> None:
    carrier = Carrier(parts=[Batches(batch=None), Batches(batch=b"")])
    assert encoder(Carrier, 1)(carrier) == [b"\x05\x03\0\0\x01\0\0"]
    assert encoder(Carrier, 0)(carrier) == [
        b"\x05\0\0\0\x02\xff\xff\xff\xff\0\0\0\0",
    ]


def test_message_of_no_bytes_is_one_empty_buffer() -> None:
    assert encoder(Empty, 0)(Empty()) == [b""]


def test_defaults_of_tagged_fields_are_left_out() -> None:
    assert Tags().encode(1) == b"\0"
    assert Tags(state=Point()).encode(1) == b"\0"
    assert Tags(high=0).encode(1) == b"\x01\x01\x08" + bytes(8)
    assert Tags(high=0).encode(0) == b""


def test_tagged_fields_rise_among_the_unknown() -> None:
    tags = Tags(high=1)
    tags.unknown_tags = {9: b"n", 0: b"old"}
    assert tags.encode(1).hex(" ") == (
        "03 00 03 6f 6c 64 01 08 00 00 00 00 00 00 00 01 09 01 6e"
    )


def test_known_field_wins_over_an_unknown_tag_of_its_number() -> None:
    # Read by a version that does not know it, written by one that does.
    tags = Tags(late=1)
    tags.unknown_tags = {2: b"old"}
    assert tags.encode(1) == b"\x01\x02\x03old"
    assert tags.encode(2) == b"\x01\x02\x04\0\0\0\x01"


def test_records_inside_a_tagged_field_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Batches\.batch"):
        encoder(Hidden, 0)


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16383, 16384])
def test_compact_lengths(size: int) -> None:
    texts = Texts(name="n" * size, note="n" * size, ids=[7] * min(size, 500))
    assert Texts.decode(texts.encode(1), 1) == texts
    assert Texts.decode(texts.encode(0), 0) == texts


def test_nulls() -> None:
    texts = Texts(note=None)
    assert texts.encode(0) == b"\0\0\xff\xff\0\0\0\0" + bytes(16)
    assert texts.encode(1) == b"\x01\0\x01" + bytes(16) + b"\0"


def test_null_where_there_can_be_none_is_our_bug() -> None:
    with pytest.raises(AttributeError):
        Texts(name=None).encode(1)  # type: ignore[arg-type]
