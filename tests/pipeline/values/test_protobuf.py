"""Protobuf values become columns, with and without the registry's prefix."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.decoding import ValueFormat
from odradek.pipeline.values.protobuf import ProtobufDecoder

FIELD = descriptor_pb2.FieldDescriptorProto


def order_file() -> Any:
    """``package shop; message Other {} message Order {...}``."""
    file = descriptor_pb2.FileDescriptorProto(
        name="shop.proto", package="shop", syntax="proto3"
    )
    file.message_type.add(name="Other")
    order = file.message_type.add(name="Order")
    for number, (name, kind, label) in enumerate(
        [
            ("id", FIELD.TYPE_INT64, FIELD.LABEL_OPTIONAL),
            ("customer", FIELD.TYPE_STRING, FIELD.LABEL_OPTIONAL),
            ("tags", FIELD.TYPE_STRING, FIELD.LABEL_REPEATED),
            ("big", FIELD.TYPE_UINT64, FIELD.LABEL_OPTIONAL),
        ],
        start=1,
    ):
        order.field.add(name=name, number=number, type=kind, label=label)
    return file


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.desc"
    files = descriptor_pb2.FileDescriptorSet(file=[order_file()])
    path.write_bytes(files.SerializeToString())
    return path


def order(**fields: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(order_file())
    kind: Any = message_factory.GetMessageClass(
        pool.FindMessageTypeByName("shop.Order")
    )
    return bytes(kind(**fields).SerializeToString())


def decoder(schema_file: Path, **more: Any) -> ProtobufDecoder:
    how = ValueFormat("protobuf", schema_file=str(schema_file), **more)
    return ProtobufDecoder.of(how)


def test_fields_become_columns(schema_file: Path) -> None:
    values = [order(id=7, customer="c", tags=["a", "b"], big=(1 << 64) - 1), None]
    found = decoder(schema_file, message="shop.Order").decode(pa.array(values))
    assert found.reasons == {}
    first, second = found.columns.to_pylist()
    assert first["id"] == 7
    assert first["tags"] == ["a", "b"]
    assert int(first["big"]) == (1 << 64) - 1
    assert set(second.values()) == {None}


def test_prefix_names_the_message(schema_file: Path) -> None:
    made = decoder(schema_file, message="shop.Order", has_prefix=True)
    prefix = b"\0" + (42).to_bytes(4, "big")
    # One index: 1, the second message of the file. Then the first one, twice.
    good, other = prefix + b"\x02\x02", prefix + b"\x00"
    values = [good + order(id=1), other + order(id=2), b"\1" + good[1:], b"\0"]
    found = made.decode(pa.array(values))
    assert [row["id"] for row in found.columns.to_pylist()] == [1]
    assert sorted(found.reasons) == [1, 2, 3]
    assert "not [1] (shop.Order)" in found.reasons[1]


def test_bad_bytes_are_a_reason(schema_file: Path) -> None:
    made = decoder(schema_file, message="shop.Order")
    found = made.decode(pa.array([b"\xff\xff\xff", order(id=3)]))
    assert found.rows.to_pylist() == [1]
    assert set(found.reasons) == {0}


def test_what_is_missing_is_said(schema_file: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="with its package"):
        decoder(schema_file, message="Order")
    with pytest.raises(JobError, match="message = "):
        decoder(schema_file)
    wrong = tmp_path / "shop.proto"
    wrong.write_text("message Order {}")
    with pytest.raises(JobError, match="not a descriptor set"):
        decoder(wrong, message="Order")
    with pytest.raises(JobError, match="schema_file = "):
        ValueFormat("protobuf").decoder()
