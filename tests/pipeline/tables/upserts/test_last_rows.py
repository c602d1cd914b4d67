import pyarrow as pa

from odradek.pipeline.tables.upserts.last_rows import (
    DELETED,
    KeyColumns,
    last_rows,
    read_rows,
    with_deleted,
)

COLUMNS = KeyColumns.of("_")


def found(*rows: tuple[bytes, int, int, int]) -> list[tuple[bytes, int, int]]:
    names = list(COLUMNS)
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    last = last_rows(table, COLUMNS).to_pylist()
    return sorted((row["_key"], row["_partition"], row["_offset"]) for row in last)


def test_the_later_offset_of_a_partition_counts_whatever_its_time() -> None:
    assert found((b"a", 0, 2, 10), (b"b", 0, 3, 10), (b"a", 0, 1, 99)) == [
        (b"a", 0, 2),
        (b"b", 0, 3),
    ]


def test_of_several_partitions_the_later_time_counts() -> None:
    assert found((b"a", 0, 9, 10), (b"a", 1, 0, 11), (b"a", 1, 1, 5)) == [(b"a", 0, 9)]
    assert found((b"a", 0, 9, 10), (b"a", 1, 1, 11)) == [(b"a", 1, 1)]


def test_names() -> None:
    assert KeyColumns.of("") == ("key", "partition", "offset", "timestamp")
    assert with_deleted(pa.schema([("a", pa.int8())])).names == ["a", DELETED]
    assert read_rows([]) is None
