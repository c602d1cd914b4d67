import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from odradek.client.schemas.protobuf import ProtobufCodec
from odradek.client.schemas.registry import RegistryError, SchemaRegistry
from tests.pipeline.fake_registry import FakeRegistry
from tests.pipeline.values.test_protobuf import order, order_file

SHOWN = {"id": "7", "customer": "c", "tags": ["a", "b"]}
ORDER = order(id=7, customer="c", tags=["a", "b"])


def file_set() -> bytes:
    files = descriptor_pb2.FileDescriptorSet(file=[order_file()])
    return files.SerializeToString()


def schema(name: str = "shop.proto") -> bytes:
    file: Any = order_file()
    file.name = name
    return bytes(file.SerializeToString())


def test_a_message_is_shown_and_written_again() -> None:
    codec = ProtobufCodec(None, "", file_set(), "shop.Order")
    assert codec.decode(ORDER) == SHOWN
    assert codec.encode(json.dumps(SHOWN).encode()) == ORDER


def test_id_and_indexes_say_which_message_it_is() -> None:
    with FakeRegistry({1: schema(), 2: schema("")}, {"orders-value": 2}) as fake:
        registry = SchemaRegistry(fake.url)
        codec = ProtobufCodec(registry, "orders-value", message="shop.Order")
        assert codec.decode(b"\0\0\0\0\1\2\2" + ORDER) == SHOWN
        assert codec.decode(b"\0\0\0\0\1\0") == {}  # the first: Other
        data = codec.encode(json.dumps(SHOWN).encode())
        assert data == b"\0\0\0\0\2\2\2" + ORDER
        assert codec.decode(data) == SHOWN
        first = ProtobufCodec(registry, "orders-value")
        assert first.encode(b"{}") == b"\0\0\0\0\2\0"


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\0\0\0\0\1", "no message indexes"),
        (b"\0\0\0\0\1\2\x0e", "no message number"),
        (b"\0\0\0\0\1\2\2\xff", "not a shop.Order"),
        (b"\0\0\0\0\2x", "the schema is AVRO, not PROTOBUF"),
        (b"\0\0\0\0\3\0", "the schema is not Protobuf"),
    ],
)
def test_what_is_no_value(data: bytes, complaint: str) -> None:
    with FakeRegistry({1: schema(), 2: '"string"', 3: b"\xff"}, {}) as fake:
        codec = ProtobufCodec(SchemaRegistry(fake.url), "")
        with pytest.raises(ValueError, match=complaint):
            codec.decode(data)


def test_what_cannot_be_written() -> None:
    codec = ProtobufCodec(None, "", file_set(), "shop.Order")
    for text in (b"{", b'{"nothing": 1}', b'{"id": "seven"}'):
        with pytest.raises(ValueError, match=r"not a shop\.Order"):
            codec.encode(text)


def test_a_schema_that_is_none_or_is_not_there() -> None:
    with pytest.raises(ValueError, match="not a descriptor set"):
        ProtobufCodec(None, "", b"message Order {}", "shop.Order")
    with pytest.raises(ValueError, match="with its package"):
        ProtobufCodec(None, "", file_set(), "Order")
    with FakeRegistry({}, {}) as fake, pytest.raises(RegistryError, match="404"):
        ProtobufCodec(SchemaRegistry(fake.url), "orders-value").encode(b"{}")
