"""What a task reads of files in a store: their columns as the table has them now."""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.pipeline.tables.places.store_place import StoreFolder, StorePlace
from odradek.pipeline.tables.places.stored_rows import StoredRows
from tests.fakes.stored_objects import ObjectServer


def put(server: ObjectServer, name: str, rows: pa.Table) -> str:
    buffer = io.BytesIO()
    pq.write_table(rows, buffer)
    server.put(f"jobs/t/{name}", buffer.getvalue())
    return f"s3://lake/jobs/t/{name}"


def test_columns_of_older_files_and_of_folders(
    server: ObjectServer, place: StorePlace
) -> None:
    old = pa.table({"was": pa.array([1, 2], pa.int32())})
    new = pa.table({"more": ["x"], "n": pa.array([3], pa.int64())})
    paths = (
        put(server, "kind=a%2Fb/day=2026-01-31/1.parquet", old),
        put(server, "kind=__HIVE_DEFAULT_PARTITION__/day=2026-02-01/2.parquet", new),
    )
    schema = pa.schema(
        [
            ("n", pa.int64()),
            ("more", pa.string()),
            ("kind", pa.string()),
            ("day", pa.date32()),
        ]
    )
    folder = StoreFolder(place.folder, (("endpoint", server.where()),))
    packed = schema.serialize().to_pybytes()
    read = StoredRows(folder, paths, packed, (("was", "n"),))
    numbers = pa.RecordBatch.from_pydict({"id": [1, 0]})
    found = pa.Table.from_batches(read(iter([numbers])), schema)
    assert [tuple(map(str, row.values())) for row in found.to_pylist()] == [
        ("3", "x", "None", "2026-02-01"),
        ("1", "None", "a/b", "2026-01-31"),
        ("2", "None", "a/b", "2026-01-31"),
    ]
