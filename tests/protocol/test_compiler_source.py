import pytest

from odradek.protocol.compiler_source import Source, size_min, struct_size_min
from tests.protocol.sample_messages import VERSIONS, Branch, Leaf, Point, Sample


def test_lines_are_indented_by_their_blocks() -> None:
    source = Source()
    with source.block("def answer():"):
        with source.block("if True:"):
            source.line("return 42")
        source.line("return 0")
    assert source.text() == (
        "def answer():\n    if True:\n        return 42\n    return 0\n"
    )


def test_variables_differ() -> None:
    source = Source()
    assert len({source.variable("n") for _ in range(3)}) == 3


def test_constant_has_one_name_and_two_constants_have_two() -> None:
    source = Source()
    one, other = object(), object()
    assert source.constant(one, "value") == source.constant(one, "value") == "value"
    name = source.constant(other, "value")
    assert source.names[name] is other
    assert source.names["value"] is one


def test_layouts_are_shared_between_sources() -> None:
    one, two = Source(), Source()
    assert one.layout("?i16s", "pack") == two.layout("?i16s", "pack") == "pack_tiu"
    assert one.names["pack_tiu"] is two.names["pack_tiu"]
    assert one.names["pack_tiu"](True, 1, bytes(16)) == b"\1\0\0\0\1" + bytes(16)


@pytest.mark.parametrize("version", VERSIONS)
def test_smallest_size_is_that_of_the_smallest_message(version: int) -> None:
    smallest = Sample(name="", blob=b"", point=Point(name=""))
    smallest.branches = [] if version < 4 else None
    size = struct_size_min(Sample, version, flexible=Sample.is_flexible(version))
    assert size == len(smallest.encode(version))


def test_smallest_sizes_of_fields() -> None:
    sizes = {
        field.name: (
            size_min(field, 2, flexible=False),
            size_min(field, 4, flexible=True),
        )
        for field in Sample.fields
    }
    assert sizes["flag"] == (1, 1)
    assert sizes["topic_id"] == (16, 16)
    assert sizes["name"] == (2, 1)
    assert sizes["blob"] == (4, 1)
    assert sizes["ids"] == (4, 1)
    assert sizes["maybe"] == (1, 1)
    assert sizes["point"] == (14, 14)
    assert struct_size_min(Leaf, 0, flexible=False) == 2
    assert struct_size_min(Branch, 3, flexible=True) == 1 + 14 + 1 + 1
