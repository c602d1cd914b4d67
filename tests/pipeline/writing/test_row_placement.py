from collections.abc import Sequence

import pyarrow as pa
import pytest

from odradek.pipeline.writing.row_placement import Turns, placing, task_number
from odradek.protocol.murmur2 import partition_of_key


def placed(
    *batches: tuple[Sequence[bytes | None], Sequence[int | None]], count: int = 4
) -> list[list[int]]:
    columns = (
        (pa.array(keys, pa.binary()), pa.array(wanted, pa.int32()))
        for keys, wanted in batches
    )
    return [found.to_pylist() for found in placing(count)(columns)]


def test_a_row_goes_where_it_wants_or_where_its_key_belongs() -> None:
    keys = [b"a", b"b", None]
    assert placed((keys, [3, None, 2])) == [[3, partition_of_key(b"b", 4), 2]]


def test_rows_without_both_take_turns_also_in_the_next_batch() -> None:
    key = partition_of_key(b"k", 4)
    batch = [None, b"k", None, None], [None] * 4
    assert placed(batch, batch) == [[0, key, 1, 2], [3, key, 0, 1]]


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_partition_that_there_is_not(wrong: int) -> None:
    with pytest.raises(ValueError, match=f"wants partition {wrong}; the topic has 4"):
        placed(([None, b"k"], [0, wrong]))


def test_turns_go_on_where_a_task_says() -> None:
    turns = Turns(3)
    nothing = pa.nulls(3, pa.binary()), pa.nulls(3, pa.int32())
    assert list(turns.place(*nothing, 4)) == [3, 0, 1]
    assert list(turns.place(*nothing, 2)) == [0, 1, 0]  # another topic


def test_outside_of_spark_it_is_the_first_task() -> None:
    assert task_number() == 0
