import copy
import pickle
from collections.abc import Iterator

import pytest

from odradek.protocol.errors import MalformedRequest
from odradek.protocol.schema import (
    NEVER_FLEXIBLE,
    REQUESTS,
    RESPONSES,
    Message,
    Request,
    Response,
    Struct,
    int32,
    string,
)
from tests.protocol.sample_messages import VERSIONS, Point, Sample, full_sample

UNUSED_KEY = 20_001


class Plain(Message, versions=(1, 2)):
    value: int = int32()


@pytest.fixture
def unused_key() -> Iterator[int]:
    yield UNUSED_KEY
    REQUESTS.pop(UNUSED_KEY, None)
    RESPONSES.pop(UNUSED_KEY, None)


def test_struct_has_slots_only() -> None:
    assert not hasattr(Point(), "__dict__")
    with pytest.raises(AttributeError):
        Point().z = 1  # type: ignore[attr-defined]


def test_equal_when_fields_and_tags_are_equal() -> None:
    assert Point(x=1) == Point(x=1)
    assert Point(x=1) != Point(x=2)
    tagged = Point(x=1)
    tagged.unknown_tags = {1: b""}
    assert tagged != Point(x=1)


def test_classes_with_equal_fields_differ() -> None:
    class Other(Struct):
        value: int = int32()

    class Another(Struct):
        value: int = int32()

    assert Other() != Another()
    assert Other() != 0


def test_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(Point())


def test_repr_names_fields_and_tags_and_hides_long_bytes() -> None:
    sample = Point(x=1)
    sample.unknown_tags = {9: b"z"}
    assert repr(sample) == "Point(x=1, y=-1, name='origin', unknown_tags={9: b'z'})"
    assert "batch=<3 bytes>" in repr(Sample(batch=memoryview(b"abc")))


def test_fields_are_inherited() -> None:
    class Point3(Point):
        z: int = int32()

    point = Point3(x=1, z=2)
    assert (point.x, point.y, point.z) == (1, -1, 2)
    assert point != Point(x=1)


def test_field_cannot_hide_a_method() -> None:
    with pytest.raises(TypeError, match="decode"):

        class Bad(Message):
            decode: int = int32()  # type: ignore[assignment]


def test_messages_know_their_versions() -> None:
    assert (Sample.min_version, Sample.max_version) == (0, 5)
    assert [Sample.is_flexible(version) for version in (2, 3)] == [False, True]
    assert Plain.first_flexible_version == NEVER_FLEXIBLE


def test_messages_of_an_api_are_entered_once(unused_key: int) -> None:
    class EchoRequest(Request, api_key=unused_key, versions=(0, 1), flexible=1):
        text: str = string()

    class EchoResponse(Response, api_key=unused_key, versions=(0, 1), flexible=1):
        text: str = string()

    assert REQUESTS[unused_key] is EchoRequest
    assert RESPONSES[unused_key] is EchoResponse
    assert EchoRequest.api_key == EchoResponse.api_key == unused_key
    with pytest.raises(TypeError, match="EchoRequest"):

        class OtherRequest(Request, api_key=unused_key, versions=(0, 0)):
            pass

    with pytest.raises(TypeError, match="EchoResponse"):

        class OtherResponse(Response, api_key=unused_key, versions=(0, 0)):
            pass


@pytest.mark.parametrize("version", VERSIONS)
def test_encode_and_decode_are_inverse(version: int) -> None:
    data = full_sample().encode(version)
    assert Sample.decode(data, version).encode(version) == data


def test_whole_sample_comes_back_in_the_newest_version() -> None:
    sample = full_sample()
    sample.number, sample.wide = 0, 0  # which it lacks
    assert Sample.decode(sample.encode(5), 5) == sample


def test_decode_wants_nothing_behind_the_message() -> None:
    data = Plain(value=1).encode(1)
    with pytest.raises(MalformedRequest, match="1 bytes too many"):
        Plain.decode(data + b"\0", 1)


@pytest.mark.parametrize("version", [0, 3])
def test_version_must_exist(version: int) -> None:
    with pytest.raises(ValueError, match=f"no version {version}"):
        Plain().encode(version)
    with pytest.raises(ValueError, match=f"no version {version}"):
        Plain.decode(b"", version)


def test_structs_are_copied_and_pickled_by_value() -> None:
    sample = full_sample()
    twin = copy.deepcopy(sample)
    assert twin == sample == pickle.loads(pickle.dumps(sample))
    assert twin.branches is not None
    twin.branches.clear()
    assert sample.branches
    copied = copy.deepcopy(Sample())
    assert copied == Sample()
    copied.point.x = 5  # no longer the shared default
    assert Sample().point.x == 0
