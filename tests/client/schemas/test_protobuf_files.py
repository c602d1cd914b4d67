import base64
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.schemas.protobuf_files import (
    add_file_set,
    add_found,
    first_message,
    indexes_of,
    message_at,
    read_indexes,
    write_indexes,
)


@given(st.lists(st.integers(0, 1 << 27), min_size=1), st.binary(max_size=5))
def test_indexes_are_read_as_they_were_written(indexes: list[int], rest: bytes) -> None:
    data = write_indexes(indexes)
    assert read_indexes(b"--" + data + rest, 2) == (indexes, 2 + len(data))


def test_the_first_message_is_one_byte() -> None:
    assert write_indexes([0]) == b"\0"
    assert write_indexes([1]) == b"\2\2"
    with pytest.raises(ValueError, match="no message indexes"):
        read_indexes(b"\x80", 0)


def test_messages_have_a_place() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="p")
    file.message_type.add(name="A")
    inner = file.message_type.add(name="B")
    inner.nested_type.add(name="X")
    inner.nested_type.add(name="Y")
    pool: Any = DescriptorPool()
    add_file_set(
        pool, descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    )
    found = pool.FindFileByName("a.proto")
    assert first_message(file) == "p.A"
    for name, indexes in {"p.A": [0], "p.B": [1], "p.B.Y": [1, 1]}.items():
        descriptor = message_at(found, indexes)
        assert descriptor.full_name == name
        assert indexes_of(descriptor) == indexes
    with pytest.raises(ValueError, match="no message number"):
        message_at(found, [2])


def test_what_a_schema_refers_to_is_there_first() -> None:
    base = descriptor_pb2.FileDescriptorProto(name="base.proto", package="p")
    base.message_type.add(name="A")
    user = descriptor_pb2.FileDescriptorProto(dependency=["base.proto"], package="p")
    field = user.message_type.add(name="B").field.add(name="a", number=1)
    field.label, field.type, field.type_name = 1, 11, ".p.A"

    class Registry:
        def version(self, *asked: object) -> dict[str, Any]:
            assert asked == ("base", 3, "serialized")
            return {"schema": base64.b64encode(base.SerializeToString()).decode()}

    pool: Any = DescriptorPool()
    reference = {"name": "base.proto", "subject": "base", "version": 3}
    text = base64.b64encode(user.SerializeToString()).decode()
    answer = {"schema": text, "references": [reference]}
    registry: Any = Registry()
    assert add_found(pool, registry, answer, "7.proto").name == "7.proto"
    assert pool.FindMessageTypeByName("p.B").fields[0].message_type.name == "A"
