import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.scan.batch_walk import find_batch, is_whole_batch, last_offset_at
from tests.storage.batches import batch

BATCHES = [batch(10, 5), batch(15, 1), batch(20, 3)]
DATA = b"".join(BATCHES)
ENDS = [14, 15, 22]


@given(st.integers(0, 30))
def test_first_batch_that_ends_at_or_above(offset: int) -> None:
    position, size = find_batch(DATA, offset)
    for data, last_offset in zip(BATCHES, ENDS, strict=True):
        if last_offset >= offset:
            assert DATA[position : position + size] == data
            return
    assert (position, size) == (len(DATA), 0)


def test_walk_ends_behind_the_last_start() -> None:
    first = len(BATCHES[0])
    assert find_batch(DATA[: first + 26], 15) == (first, 0)
    assert find_batch(DATA[: first + 27], 15) == (first, len(BATCHES[1]))
    assert find_batch(DATA[: first - 10], 15) == (first, 0)


@pytest.mark.parametrize("length", [-1, 0, 48])
def test_impossible_length_ends_the_walk(length: int) -> None:
    data = bytearray(DATA)
    second = len(BATCHES[0])
    data[second + 8 : second + 12] = length.to_bytes(4, "big", signed=True)
    assert find_batch(data, 15) == (second, -1)


def test_last_offset_at_a_position() -> None:
    assert last_offset_at(DATA) == 14
    assert last_offset_at(DATA, len(BATCHES[0])) == 15
    assert last_offset_at(DATA[:26]) == -1


def test_whole_batch() -> None:
    size = len(BATCHES[0])
    assert is_whole_batch(DATA)
    assert is_whole_batch(DATA[:size])
    assert not is_whole_batch(DATA[: size - 1])
    assert not is_whole_batch(DATA[:60])
    assert not is_whole_batch(bytes(100))
