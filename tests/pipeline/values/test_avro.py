"""Avro values become columns; the registry's ids say who wrote them."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.confluent import RegistryAway
from odradek.pipeline.values.decoding import ValueFormat
from tests.pipeline.fake_registry import FakeRegistry

OLD = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}],
}
NEW = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"], "default": None},
        {
            "name": "at",
            "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
            "default": None,
        },
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    ],
}
AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def encoded(schema: Any, schema_id: int | None = None, **fields: Any) -> bytes:
    stream = io.BytesIO()
    if schema_id is not None:
        stream.write(b"\0" + schema_id.to_bytes(4, "big"))
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), fields)
    return stream.getvalue()


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(NEW))
    return path


def decoded(how: ValueFormat, values: list[bytes | None]) -> Any:
    decoder = how.decoder()
    assert decoder is not None
    return decoder.decode(pa.array(values, pa.binary()))


def test_fields_become_columns(schema_file: Path) -> None:
    how = ValueFormat("avro", schema_file=str(schema_file))
    values = [encoded(NEW, id=1, customer="c", at=AT, tags=["a"]), None, b"\x80"]
    found = decoded(how, values)
    first, second = found.columns.to_pylist()
    assert first == {"id": 1, "customer": "c", "at": AT, "tags": ["a"]}
    assert set(second.values()) == {None}
    assert set(found.reasons) == {2}


def test_bytes_behind_the_record_are_a_reason(schema_file: Path) -> None:
    how = ValueFormat("avro", schema_file=str(schema_file))
    found = decoded(how, [encoded(NEW, id=1) + b"x"])
    assert "1 bytes are left" in found.reasons[0]


def test_writers_of_older_versions_are_read() -> None:
    with FakeRegistry({1: OLD, 2: NEW}, {"orders-value": 2}) as registry:
        how = ValueFormat(
            "avro", registry=registry.url, subject="orders-value", has_prefix=True
        )
        values = [encoded(OLD, 1, id=5), encoded(NEW, 2, id=6, customer="x")]
        found = decoded(how, [*values, *values, encoded(NEW, 3, id=7), b"\1\0\0\0\1"])
        rows = found.columns.to_pylist()
        assert [row["id"] for row in rows] == [5, 6, 5, 6]
        assert [row["customer"] for row in rows] == [None, "x", None, "x"]
        assert found.reasons[4] == "the registry has no schema 3"
        assert "not with a schema id" in found.reasons[5]
        asked = [path for path in registry.asked if path.startswith("/schemas")]
        assert asked == ["/schemas/ids/1", "/schemas/ids/2", "/schemas/ids/3"]


def test_what_cannot_be_a_column_is_refused(tmp_path: Path) -> None:
    for kind, said in {
        '["int", "string"]': "union of 2 types",
        '"Order"': "contains itself",
    }.items():
        path = tmp_path / "x.avsc"
        fields = f'[{{"name": "x", "type": {kind}}}]'
        path.write_text(f'{{"type": "record", "name": "Order", "fields": {fields}}}')
        with pytest.raises(JobError, match=said):
            ValueFormat("avro", schema_file=str(path)).decoder()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="needs schema_file"):
        ValueFormat("avro").decoder()
    with pytest.raises(JobError, match="No such file"):
        ValueFormat("avro", schema_file=str(tmp_path / "none.avsc")).decoder()


def test_a_registry_that_is_away_makes_no_dead_letters() -> None:
    """Nothing is wrong with the values: the job has to wait for it."""
    with FakeRegistry({1: OLD}, {"orders-value": 1}) as registry:
        how = ValueFormat(
            "avro", registry=registry.url, subject="orders-value", has_prefix=True
        )
        decoder = how.decoder()
        assert decoder is not None
    with pytest.raises(RegistryAway, match=registry.url):
        decoder.decode(pa.array([encoded(OLD, 1, id=5)]))
