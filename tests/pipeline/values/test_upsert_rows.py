import pyarrow as pa

from odradek.pipeline.values.decoding import ValueFormat
from odradek.pipeline.values.upsert_rows import UpsertMaker
from tests.pipeline.fake_job import RECORDS

ROWS = [
    {"topic": "t", "offset": 0, "key": b"a", "value": b'{"id": 1}'},
    {"topic": "t", "offset": 1, "key": b"a", "value": None},
    {"topic": "t", "offset": 2, "key": None, "value": b'{"id": 2}'},
    {"topic": "t", "offset": 3, "key": b"b", "value": b"{}"},
]
BATCH = pa.RecordBatch.from_pylist(ROWS, schema=RECORDS)


def test_values_of_json() -> None:
    """A field that must not be null makes no dead letter of a key that goes."""
    maker = UpsertMaker(ValueFormat("json", schema="id BIGINT NOT NULL"), RECORDS)
    rows, dead = maker.make(BATCH)
    assert rows.schema == maker.schema
    assert [
        (r["id"], r["_key"], r["_offset"], r["__deleted"]) for r in rows.to_pylist()
    ] == [
        (1, b"a", 0, False),
        (None, b"a", 1, True),
    ]
    assert [row["offset"] for row in dead.to_pylist()] == [3, 2]
    assert "no key" in dead.column("reason")[1].as_py()


def test_values_as_they_are() -> None:
    maker = UpsertMaker(ValueFormat("none"), RECORDS)
    rows, dead = maker.make(BATCH)
    assert [(r["key"], r["value"], r["__deleted"]) for r in rows.to_pylist()] == [
        (b"a", b'{"id": 1}', False),
        (b"b", b"{}", False),
        (b"a", None, True),
    ]
    assert len(dead) == 1
