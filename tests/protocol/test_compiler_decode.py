"""What the decoder takes and refuses, one rule at a time."""

import tracemalloc
from struct import pack

import pytest

from odradek.protocol.compiler import decoder
from odradek.protocol.compiler_decode import (
    STRING_SIZE_MAX,
    read_string_length,
    read_tags,
)
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.primitives import NO_TAGS, Buffer, unsigned_varint
from odradek.protocol.schema import (
    Message,
    Response,
    Struct,
    array,
    bytes_,
    int8,
    int32,
    records,
    since,
    string,
    struct,
)


class Item(Struct):
    value: int = int8()


class Nothing(Struct):
    later: int = int8(versions=since(9))


class Strict(Message, versions=(0, 1), flexible=1):
    """What follows is not read unless a test gets that far."""

    name: str = string()


class Lists(Message, versions=(0, 1), flexible=1):
    items: list[Item] = array()


class Numbers(Message, versions=(0, 1), flexible=1):
    numbers: list[int] = array(of=int32)


class MaybeLists(Message, versions=(0, 1), flexible=1):
    items: list[Item] | None = array(nullable=True)


class ManyNumbers(Response, versions=(0, 1), flexible=1):
    numbers: list[int] = array(of=int32)


class Blob(Message, versions=(0, 1), flexible=1):
    blob: Buffer | None = bytes_(nullable=True)
    batch: Buffer | None = records()


class Choice(Message, versions=(0, 1), flexible=1):
    item: Item | None = struct(nullable=since(1))


class Empties(Message, versions=(0, 1), flexible=1):
    nothings: list[Nothing] = array()


class Tagged(Message, versions=(1, 1), flexible=1):
    name: str = string(tag=0)
    items: list[Item] = array(tag=1)


def decode(cls: type[Message], data: Buffer, version: int) -> Message:
    return decoder(cls, version)(memoryview(data), 0)[0]


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, pack(">h", -1)),
        (0, pack(">h", -2)),
        (0, pack(">h", 4) + b"abc"),
        (0, pack(">h", 2) + b"\xc3\x28"),
        (0, b"\0"),
        (1, b"\0\0"),
        (1, b"\x05abc"),
        (1, b"\x03\xc3\x28\0"),
        (1, b"\x80\x80\x80\x80\x80\x00"),
        (1, b"\x80\x80\x80\x80\x10"),
    ],
)
def test_impossible_string(version: int, data: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode(Strict, data, version)


def test_longest_string() -> None:
    for size, fits in ((STRING_SIZE_MAX, True), (STRING_SIZE_MAX + 1, False)):
        data = unsigned_varint(size + 1) + b"a" * size + b"\0"
        if fits:
            assert decode(Strict, data, 1) == Strict(name="a" * size)
        else:
            with pytest.raises(MalformedRequest, match="32768 bytes"):
                decode(Strict, data, 1)
    assert read_string_length(b"\x80\x01", 0) == (128, 2)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, pack(">i", 2) + b"\1"),
        (0, pack(">i", (1 << 31) - 1) + bytes(100)),
        (1, b"\x03\1\0\1"),
        (1, b"\xff\xff\xff\xff\x0f" + bytes(100)),
    ],
)
@pytest.mark.parametrize("cls", [Lists, Numbers, MaybeLists])
def test_impossible_array(cls: type[Message], version: int, data: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode(cls, data, version)


@pytest.mark.parametrize(("version", "null"), [(0, pack(">i", -1)), (1, b"\0\0")])
def test_null_array_only_where_it_may_be(version: int, null: bytes) -> None:
    assert decode(MaybeLists, null, version) == MaybeLists(items=None)
    for cls in (Lists, Numbers):
        with pytest.raises(MalformedRequest, match="-1 elements"):
            decode(cls, null, version)


def test_too_many_elements_are_refused_before_anything_is_made() -> None:
    # Each of the elements would fit, but not all of them.
    data = memoryview(unsigned_varint(50_001) + b"\1\0" * 30_000)
    functions = [decoder(cls, 1) for cls in (Lists, MaybeLists)]
    tracemalloc.start()
    try:
        for function in functions:
            with pytest.raises(MalformedRequest, match="50000 elements"):
                function(data[:60_000], 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 10


def test_length_is_refused_before_anything_is_made() -> None:
    flexible = unsigned_varint(1 << 30) + bytes(1000)
    decoders = [decoder(cls, 1) for cls in (Strict, Lists, Numbers, Blob)]
    tracemalloc.start()
    try:
        for function in decoders:
            with pytest.raises(MalformedRequest):
                function(memoryview(flexible), 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 10


@pytest.mark.parametrize("count", [Numbers.object_count_max, 100_001])
def test_number_of_objects_is_limited(count: int) -> None:
    data = pack(">i", count) + bytes(4 * count)
    if count > Numbers.object_count_max:
        with pytest.raises(MalformedRequest, match="too many elements"):
            decode(Numbers, data, 0)
    else:
        assert decode(Numbers, data, 0) == Numbers(numbers=[0] * count)
    assert decode(ManyNumbers, data, 0) == ManyNumbers(numbers=[0] * count)


def test_unknown_tags_count_as_objects() -> None:
    data = memoryview(b"\x02\x00\x00\x01\x00")
    assert read_tags(data, 0, 2) == ({0: b"", 1: b""}, 5)
    with pytest.raises(MalformedRequest, match="2 tagged fields"):
        read_tags(data, 0, 1)
    each = b"\1" + b"\x01\x09\x00"  # an element with one unknown tag
    assert decode(Lists, unsigned_varint(50_001) + each * 50_000 + b"\0", 1)
    with pytest.raises(MalformedRequest, match="1 tagged fields"):
        decode(Lists, unsigned_varint(50_002) + each * 50_001 + b"\0", 1)
    with pytest.raises(MalformedRequest, match="too many tagged"):
        decode(Tagged, unsigned_varint(100_001) + bytes(10), 1)


def test_unknown_tag_beyond_the_end() -> None:
    with pytest.raises(MalformedRequest, match="tag 9 of 4 bytes"):
        decode(Lists, b"\x01" + b"\x01\x09\x04abc", 1)


def test_elements_of_no_bytes_cannot_be_many() -> None:
    assert decode(Empties, pack(">i", 2) + b"rest", 0) == Empties(
        nothings=[Nothing(), Nothing()]
    )
    with pytest.raises(MalformedRequest):
        decode(Empties, pack(">i", 5) + b"rest", 0)


def test_bytes_and_records_are_views_of_the_data() -> None:
    frame = bytearray(Blob(blob=memoryview(b"ab"), batch=memoryview(b"xyz")).encode(1))
    blob = decode(Blob, frame, 1)
    assert isinstance(blob, Blob)
    assert isinstance(blob.blob, memoryview)
    assert isinstance(blob.batch, memoryview)
    blob.batch[0] = ord("X")  # an offset is stamped into the client's own bytes
    assert b"Xyz" in frame
    assert bytes(blob.blob) == b"ab"


def test_null_and_empty_differ() -> None:
    for blob, batch in ((None, None), (b"", b""), (None, b""), (b"", None)):
        for version in (0, 1):
            message = Blob(blob=blob, batch=batch)
            assert Blob.decode(message.encode(version), version) == message


@pytest.mark.parametrize(
    ("data", "item"),
    [(b"\xff\0", None), (b"\x80\0", None), (b"\1\x05\0\0", Item(value=5))],
)
def test_nullable_struct_has_a_marker(data: bytes, item: Item | None) -> None:
    assert decode(Choice, data, 1) == Choice(item=item)


def test_tagged_fields_in_any_order_and_unknown_ones() -> None:
    data = b"\x03" + b"\x09\x02zz" + b"\x01\x03\x02\x07\0" + b"\x00\x02\x02n"
    tagged = decode(Tagged, data, 1)
    expected = Tagged(name="n", items=[Item(value=7)])
    expected.unknown_tags = {9: b"zz"}
    assert tagged == expected
    assert tagged.encode(1) == (
        b"\x03" + b"\x00\x02\x02n" + b"\x01\x03\x02\x07\0" + b"\x09\x02zz"
    )


@pytest.mark.parametrize("size", [1, 3, 200])
def test_size_of_a_tagged_field_must_be_that_of_its_value(size: int) -> None:
    data = b"\x01\x00" + unsigned_varint(size) + b"\x02n\0"
    with pytest.raises(MalformedRequest):
        decode(Tagged, data, 1)


def test_struct_without_unknown_tags_holds_the_shared_none() -> None:
    assert decode(Tagged, b"\0", 1).unknown_tags is NO_TAGS
    assert decode(Strict, b"\0\0", 0).unknown_tags is NO_TAGS


def test_error_names_the_message() -> None:
    with pytest.raises(MalformedRequest, match="Strict v1"):
        decode(Strict, b"", 1)
    with pytest.raises(MalformedRequest, match=r"Strict\.name: length 9"):
        decode(Strict, b"\x09", 1)
