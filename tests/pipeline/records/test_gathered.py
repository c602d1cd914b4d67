"""Small batches are joined, large ones are left alone, and the order stays."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.records.gathered import ROWS, SIZE, gathered


def batches(*counts: int) -> list[pa.RecordBatch]:
    made, first = [], 0
    for count in counts:
        numbers = pa.array(range(first, first + count), pa.int64())
        made.append(pa.record_batch([numbers], names=["n"]))
        first += count
    return made


def test_many_small_ones() -> None:
    found = list(gathered(batches(*[3] * 1000)))
    assert [each.num_rows for each in found] == [3000]
    assert list(gathered([])) == []


def test_they_do_not_grow_without_end() -> None:
    found = list(gathered(batches(*[ROWS // 5] * 12)))
    assert [each.num_rows for each in found] == [ROWS, ROWS, 2 * ROWS // 5]
    values = pa.record_batch([pa.array(["x" * (SIZE // 5)])], names=["v"])
    assert [each.num_rows for each in gathered([values] * 6)] == [5, 1]


def test_large_ones_are_handed_on_as_they_are() -> None:
    given = batches(2, 2, ROWS, 1)
    found = list(gathered(given))
    assert [each.num_rows for each in found] == [4, ROWS, 1]
    assert found[1] is given[2]


@given(st.lists(st.sampled_from([0, 1, 7, 900, 3000, 12_000]), max_size=20))
def test_no_row_is_lost(counts: list[int]) -> None:
    found = [n for each in gathered(batches(*counts)) for n in each["n"].to_pylist()]
    assert found == list(range(sum(counts)))
