import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.pipeline.tables.parquet_note import noted_schema, table_note

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("all", pa.list_(pa.int8())),
    ]
)


def test_columns_come_back_as_they_were() -> None:
    note = json.loads(json.dumps(table_note("job", SCHEMA)))
    assert note["job"] == "job"
    assert note["schema"][1] == ["at", "timestamp[us, tz=UTC]"]
    assert noted_schema(note, []) == SCHEMA


def test_notes_of_earlier_versions(tmp_path: Path) -> None:
    note = {"version": 1, "job": "job", "schema": []}
    assert noted_schema(note, []) is None
    for name, schema in (("a", SCHEMA.remove(0)), ("b", SCHEMA)):
        pq.write_table(schema.empty_table(), tmp_path / name)
    files = [str(tmp_path / name) for name in "ab"]
    assert noted_schema(note, files) == SCHEMA
