import numpy as np
import pyarrow as pa

from odradek.pipeline.records.record_arrays import (
    RecordArrays,
    RecordRows,
    timestamp_array,
)
from tests.pipeline.walks import ALL, PLACE

DATA = memoryview(b"keyvalue\x04\x02a\x02b\x02c\x01.")


def rows(*cells: tuple[int, ...], times: np.ndarray | bool = False) -> RecordRows:
    return RecordRows(DATA, np.ascontiguousarray(np.array(cells).T), times)


ONE = (5, 1000, 0, 3, 3, 5, 2)
NULLS = (6, 2000, 0, -1, 0, -1, 0)
EMPTY = (7, 3000, 0, 0, 3, 0, 0)


def test_one_copy_of_what_is_there() -> None:
    batch = RecordArrays(PLACE, ALL).batch(rows(ONE, NULLS, EMPTY))
    batch.validate(full=True)
    assert batch.schema == ALL.arrow_schema()
    assert batch.column("key").to_pylist() == [b"key", None, b""]
    assert batch.column("value").to_pylist() == [b"value", None, b""]
    assert batch.column("headers").to_pylist() == [
        [{"key": "a", "value": b"b"}, {"key": "c", "value": None}],
        None,
        None,
    ]


def test_what_is_constant_grows_with_the_batches() -> None:
    arrays = RecordArrays(PLACE, ALL)
    for count in (1, 3000, 2, 5000):
        batch = arrays.batch(rows(*[NULLS] * count))
        assert batch.num_rows == count
        assert batch.column("topic").unique().to_pylist() == ["topic"]
        assert batch.column("headers").null_count == count


def test_rows_within_offsets() -> None:
    given = rows(ONE, NULLS, EMPTY, times=np.array([True, False, True]))
    assert given.within(0, 99) is given
    part = given.within(6, 8)
    assert part.offsets.tolist() == [6, 7]
    assert part.timestamps.tolist() == [2000, 3000]
    batch = RecordArrays(PLACE, ALL).batch(part)
    assert batch.column("timestampType").to_pylist() == [0, 1]
    assert rows(ONE, times=True).within(6, 9).count == 0


def test_times_that_do_not_fit_are_null() -> None:
    limit = (2**63 - 1) // 1000
    times = np.array([limit, limit + 1, -limit, -limit - 1, -1])
    found = timestamp_array(times)
    assert found.type == pa.timestamp("us", tz="UTC")
    assert found.cast("int64").to_pylist() == [
        limit * 1000,
        None,
        -limit * 1000,
        None,
        -1000,
    ]
