"""Random messages of any declared class: strategies made from its fields."""

from typing import Any

from hypothesis import strategies as st

from odradek.protocol.fields import Field
from odradek.protocol.schema import Message, Struct

_INTEGERS = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
_CONTENT = st.binary(max_size=8) | st.sampled_from([b"b" * 126, b"b" * 127])
_SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    **{kind: st.integers(*limits) for kind, limits in _INTEGERS.items()},
    "boolean": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "string": st.text(max_size=4) | st.sampled_from(["s" * 126, "s" * 127, "é" * 64]),
    "bytes": _CONTENT,
    "records": _CONTENT,
}


def messages(
    cls: type[Message], version: int, *, with_unknown_tags: bool = True
) -> st.SearchStrategy[Any]:
    """Messages of one version; the fields that it lacks keep their defaults."""
    return _structs(cls, version, with_unknown_tags and cls.is_flexible(version))


def _structs(
    cls: type[Struct], version: int, with_tags: bool
) -> st.SearchStrategy[Any]:
    values = {
        field.name: _values(field, version, with_tags)
        for field in cls.fields
        if field.versions.cover(version)
    }
    fields = st.fixed_dictionaries({}, optional=values)
    if not with_tags:
        return fields.map(lambda chosen: cls(**chosen))
    known = {field.tag for field in cls.fields if field.versions.cover(version)}
    tags = st.integers(0, (1 << 32) - 1) | st.integers(0, 5)
    unknown = st.dictionaries(
        tags.filter(lambda tag: tag not in known), st.binary(max_size=3), max_size=3
    )
    return st.tuples(fields, st.just({}) | unknown).map(
        lambda chosen: _with_tags(cls(**chosen[0]), chosen[1])
    )


def _with_tags(struct: Struct, tags: dict[int, bytes]) -> Struct:
    struct.unknown_tags = tags
    return struct


def _values(field: Field, version: int, with_tags: bool) -> st.SearchStrategy[Any]:
    if field.kind == "array":
        values: st.SearchStrategy[Any] = st.lists(
            _values(field.element, version, with_tags), max_size=3
        )
    elif field.kind == "struct":
        values = _structs(field.struct_class, version, with_tags)
    else:
        values = _SIMPLE[field.kind]
    return st.none() | values if field.nullable.cover(version) else values
