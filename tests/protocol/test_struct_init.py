import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.schema import Struct, int32, struct
from odradek.protocol.struct_init import default_of
from odradek.protocol.uuids import ZERO_UUID
from tests.protocol.sample_messages import Branch, Leaf, Point, Sample


def test_defaults() -> None:
    sample = Sample()
    assert (sample.flag, sample.small, sample.ratio) == (True, -1, 0.5)
    assert (sample.name, sample.note, sample.rack) == ("", "", None)
    assert (sample.blob, sample.payload, sample.batch) == (b"", None, None)
    assert (sample.topic_id, sample.ids, sample.offsets) == (ZERO_UUID, [], [])
    assert sample.point == Point()
    assert (sample.maybe, sample.tagged_branch) == (None, Branch())
    assert not sample.unknown_tags


def test_lists_and_structs_with_lists_are_made_anew() -> None:
    one, two = Sample(), Sample()
    one.ids.append(1)
    one.tagged_branch.leaves.append(Leaf())
    assert two == Sample()
    assert two.ids == []
    assert two.tagged_branch == Branch()


def test_none_is_a_value_where_it_is_not_the_default() -> None:
    assert Sample(offsets=None).offsets is None
    assert Sample(note=None).note is None


def test_structs_of_scalars_are_shared_and_refuse_changes() -> None:
    one, two = Sample(), Sample()
    assert one.point is two.point is one.tagged_point
    with pytest.raises(AttributeError, match="assign a new Point"):
        one.point.x = 1
    with pytest.raises(AttributeError, match="assign a new Point"):
        one.point.unknown_tags = {1: b""}
    one.point = Point(x=1)
    assert two.point.x == 0


def test_shared_default_looks_like_what_it_stands_for() -> None:
    shared = Sample().point
    assert shared == Point()
    assert Point() == shared
    assert repr(shared) == repr(Point())
    assert shared.declared_class() is Point


def test_each_class_of_a_family_gets_its_own_init() -> None:
    class Base(Struct):
        one: int = int32()

    class Derived(Base):
        two: int = int32()

    assert Base(one=1).one == 1
    assert Derived(one=1, two=2).two == 2
    assert Derived().one == 0


def test_struct_without_fields() -> None:
    class Empty(Struct):
        pass

    class Holder(Struct):
        empty: Empty = struct()

    assert Holder().empty == Empty()


def test_arguments_are_named_and_known() -> None:
    with pytest.raises(TypeError):
        Point(z=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[misc]


def test_default_that_is_an_enum_member_stays_one() -> None:
    class WithCode(Struct):
        code: int = int32(default=ErrorCode.CORRUPT_MESSAGE)

    assert default_of(WithCode.fields[0]) is ErrorCode.CORRUPT_MESSAGE
    assert WithCode().code is ErrorCode.CORRUPT_MESSAGE
