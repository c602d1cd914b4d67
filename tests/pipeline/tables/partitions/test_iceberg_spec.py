"""Partitions as Iceberg's metadata has them, of ours and of others."""

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.transforms import BucketTransform, DayTransform

from odradek.pipeline.tables.partitions.iceberg_spec import (
    iceberg_layout,
    partitions_of,
)
from odradek.pipeline.tables.partitions.partitioning import (
    WHOLE,
    read_partitioning,
)

BY = ["kind", "years(at)", "months(on)"]
SCHEMA = pa.schema(
    [("on", pa.date32()), ("kind", pa.string()), ("at", pa.timestamp("us"))]
)


def test_what_a_job_says_is_read_back(tmp_path: Path) -> None:
    catalog = load_catalog(
        "lakes",
        type="sql",
        uri=f"sqlite:///{tmp_path}/c.db",
        warehouse=tmp_path.as_uri(),
    )
    catalog.create_namespace("n")
    partitioning = read_partitioning("", BY, "iceberg")
    made = catalog.create_table("n.t", **iceberg_layout(SCHEMA, partitioning))
    assert partitions_of(made) == BY
    assert [field.name for field in made.spec().fields] == partitioning.names
    plain = catalog.create_table("n.u", **iceberg_layout(SCHEMA, WHOLE))
    assert partitions_of(plain) == []
    with plain.update_spec() as update:
        update.add_field("kind", BucketTransform(16), "buckets")
        update.add_field("at", DayTransform(), "at_day")
    assert partitions_of(catalog.load_table("n.u")) == ["bucket[16](kind)", "days(at)"]
    catalog.close()
