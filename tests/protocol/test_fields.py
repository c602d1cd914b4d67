import pytest

from odradek.protocol.fields import (
    ALL_VERSIONS,
    NO_VERSION,
    Field,
    Versions,
    between,
    records,
    since,
    string,
    until,
)
from odradek.protocol.schema import Struct, array, int32, struct
from tests.protocol.sample_messages import Branch, Leaf, Point, Sample


def field(cls: type[Struct], name: str) -> Field:
    return next(field for field in cls.fields if field.name == name)


@pytest.mark.parametrize(
    ("versions", "covered"),
    [
        (since(2), [2, 3, 4]),
        (until(1), [0, 1]),
        (between(1, 3), [1, 2, 3]),
        (ALL_VERSIONS, [0, 1, 2, 3, 4]),
        (NO_VERSION, []),
    ],
)
def test_versions(versions: Versions, covered: list[int]) -> None:
    assert [version for version in range(5) if versions.cover(version)] == covered


def test_nullable_may_be_a_bool() -> None:
    assert string(nullable=True).nullable == ALL_VERSIONS
    assert string().nullable == NO_VERSION


def test_what_an_array_holds_comes_from_its_annotation() -> None:
    assert field(Branch, "leaves").element.struct_class is Leaf
    assert field(Sample, "names").element.kind == "string"
    assert field(Sample, "branches").element.struct_class is Branch


def test_what_an_array_holds_comes_from_of() -> None:
    assert field(Sample, "ids").element.kind == "int32"
    assert field(Sample, "topic_ids").element.kind == "uuid"


def test_class_of_a_struct_comes_from_its_annotation() -> None:
    assert field(Sample, "point").struct_class is Point
    assert field(Sample, "maybe").struct_class is Branch


def test_annotations_may_be_text() -> None:
    class Holder(Struct):
        points: "list[Leaf] | None" = array(nullable=True)
        leaf: "Leaf" = struct()

    assert field(Holder, "points").element.struct_class is Leaf
    assert field(Holder, "leaf").struct_class is Leaf


def test_array_of_int_needs_its_size() -> None:
    class Unclear(Struct):
        ids: list[int] = array()

    with pytest.raises(TypeError, match=r"Unclear\.ids"):
        field(Unclear, "ids").element  # noqa: B018


def test_struct_needs_a_struct() -> None:
    class Unclear(Struct):
        inner: int = struct()

    with pytest.raises(TypeError, match=r"Unclear\.inner"):
        field(Unclear, "inner").struct_class  # noqa: B018


def test_records_cannot_be_tagged() -> None:
    with pytest.raises(TypeError, match="tagged"):
        Field("records", tag=1)
    assert records().default is None


def test_field_is_named_with_its_struct() -> None:
    assert str(field(Point, "x")) == "Point.x"
    assert int32().kind == "int32"
