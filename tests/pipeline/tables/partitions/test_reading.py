"""Partitioned tables as Spark reads them, with the types that they have."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable, write_deltalake

from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.files import TableSource
from odradek.pipeline.tables.partitions.reading import parts_of
from odradek.pipeline.tables.partitions.splitting import laid_out
from odradek.pipeline.tables.table import FORMATS

from .divided_table import KINDS, by, commit_batch, filled, made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("kind", FORMATS)
def test_values_are_not_guessed(
    spark: "SparkSession", tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "t"
    with closing(filled(kind, folder)) as table:
        if kind == "delta":  # files of deltalake, and behind them files of ours
            compact(str(folder))
            rows = laid_out(by(kind), made(2))
            write_deltalake(folder, rows, mode="append")
            table.publish(commit_batch(table, kind, 3))
        count = 48 if kind == "delta" else 24
    source = TableSource(kind, str(folder), {})
    files = source.files(spark)
    assert len(files) == (18 if kind == "delta" else 12)
    found = source.rows(spark, files).select("n", "kind").collect()
    assert sorted(map(tuple, found)) == [(n, KINDS[n % 3]) for n in range(count)]


def test_only_what_is_divided_is_read_apart(tmp_path: Path) -> None:
    filled("delta", tmp_path / "d", 1).close()
    write_deltalake(tmp_path / "plain", made(0))
    for folder in ("d", "plain"):
        paths = DeltaTable(tmp_path / folder).file_uris()
        (part,) = parts_of("delta", str(tmp_path / folder), paths)
        assert (part.paths, part.schema) == (paths, None)
    assert parts_of("csv", "/x", ["/x/a.csv"])[0].schema is None
    assert parts_of("parquet", "/x", ["/x/a.parquet"])[0].schema is None
    assert parts_of("parquet", "s3://x", ["s3://x/a.parquet"])[0].schema is None
