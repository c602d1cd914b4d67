import io
import json
from typing import Any

import fastavro
import pytest

from odradek.client.schemas.avro import AvroCodec
from odradek.client.schemas.registry import RegistryError, SchemaRegistry
from tests.pipeline.fake_registry import FakeRegistry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "raw", "type": "bytes"},
    ],
}
SHOWN = {"id": 7, "customer": {"string": "c"}, "at": 1767225600000, "raw": "\x00ÿ"}


def written(value: Any, schema: Any = ORDER) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def test_a_value_is_shown_and_written_again() -> None:
    codec = AvroCodec(None, "", json.dumps(ORDER))
    data = written({**SHOWN, "customer": "c", "raw": b"\x00\xff"})
    assert codec.decode(data) == SHOWN
    assert codec.encode(json.dumps(SHOWN).encode()) == data


def test_the_id_says_which_schema_it_is() -> None:
    newer = {**ORDER, "fields": [*ORDER["fields"], {"name": "x", "type": "int"}]}
    with FakeRegistry({1: ORDER, 2: newer, 3: '"string"'}, {"orders-value": 2}) as fake:
        codec = AvroCodec(SchemaRegistry(fake.url), "orders-value")
        old = b"\0\0\0\0\1" + written({**SHOWN, "customer": None, "raw": b""})
        for _ in range(2):
            assert codec.decode(old) == {**SHOWN, "customer": None, "raw": ""}
        assert codec.decode(b"\0\0\0\0\3" + written("text", "string")) == "text"
        data = codec.encode(json.dumps({**SHOWN, "x": 5}).encode())
        assert data[:5] == b"\0\0\0\0\2"
        assert codec.decode(data) == {**SHOWN, "x": 5}
        assert len(fake.asked) == 4  # each schema once


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "too few for a schema id"),
        (b"plain", "begins with byte"),
        (b"\0\0\0\0\1", "ends too early"),
        (b"\0\0\0\0\1" + written(dict(SHOWN, customer=None, raw=b"")) + b"!", "1 byte"),
        (b"\0\0\0\0\x09x", "no schema 9"),
        (b"\0\0\0\0\2x", "the schema is PROTOBUF, not AVRO"),
    ],
)
def test_what_is_no_value(data: bytes, complaint: str) -> None:
    with FakeRegistry({1: ORDER, 2: b""}, {}) as fake:
        codec = AvroCodec(SchemaRegistry(fake.url), "")
        with pytest.raises(ValueError, match=complaint):
            codec.decode(data)


@pytest.mark.parametrize("text", ["{", "7", '{"id": 7}', '{"id": "seven"}'])
def test_what_cannot_be_written(text: str) -> None:
    codec = AvroCodec(None, "", json.dumps(ORDER))
    with pytest.raises(ValueError, match=":"):
        codec.encode(text.encode())


def test_a_schema_that_is_none_or_is_not_there() -> None:
    for schema in ("{", '"nothing"', '{"type": "record"}'):
        with pytest.raises(ValueError, match="the schema is not Avro"):
            AvroCodec(None, "", schema)
    with FakeRegistry({}, {}) as fake, pytest.raises(RegistryError, match="404"):
        AvroCodec(SchemaRegistry(fake.url), "orders-value").encode(b"1")
