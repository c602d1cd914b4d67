"""The walk over batches, in Python and in C: where it ends, and that both agree."""

from array import array
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from odradek.protocol.batch_columns import COLUMN_COUNT
from odradek.protocol.plain import batch_columns as batch_columns_plain
from odradek.protocol.record_batch import pack_header, read_header
from tests.protocol.walked_batches import damaged, written

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)

BOTH = pytest.mark.parametrize("walker", [batch_columns_plain, speedups])
HIGHEST = 2**63 - 2
DATA = written([5, 9, 2])
SIZE = len(DATA) // 3


@given(
    damaged(),
    st.integers(0, 8),
    st.sampled_from([-1, 0, 1, 4, 2**63 - 1]),
    st.sampled_from([0, 1, 3, 5, HIGHEST]),
    st.booleans(),
)
@example(DATA, 3, 0, HIGHEST, True)
@example(DATA[:-1], 3, 0, HIGHEST, True)
def test_both_walks_agree(
    data: bytes, capacity: int, next_offset: int, offset_max: int, checks_crc: bool
) -> None:
    cells = [array("q", bytes(64 * capacity)) for _ in range(2)]
    found = [
        walker.walk_batches(data, columns, next_offset, offset_max, checks_crc)
        for walker, columns in zip((batch_columns_plain, speedups), cells, strict=True)
    ]
    assert found[0] == found[1]
    assert cells[0] == cells[1]


@BOTH
def test_columns_are_one_behind_another(walker: ModuleType) -> None:
    cells = array("q", bytes(64 * 4))
    assert walker.walk_batches(DATA, cells, 0, HIGHEST, True) == (3, 3 * SIZE)
    rows = [list(cells[4 * column :][:4]) for column in range(8)]
    assert rows == [
        [0, SIZE, 2 * SIZE, 0],
        [0, 2, 4, 0],
        [2, 4, 6, 0],
        [5, 9, 9, 0],
        [0, 1, 1, 0],
        [3, 3, 3, 0],
        [5, 9, 2, 0],
        [0, 0, 0, 0],
    ]


@BOTH
@pytest.mark.parametrize(
    "fields",
    [
        {"batch_length": 48},
        {"batch_length": -5},
        {"batch_length": 2**31 - 1},
        {"magic": 1},
        {"crc": 1},
        {"last_offset_delta": -1},
        {"base_offset": 1},
        {"base_offset": 2**40},
    ],
)
def test_walk_ends_before_what_is_no_batch(
    walker: ModuleType, fields: dict[str, int]
) -> None:
    data = bytearray(DATA)
    header = read_header(data, SIZE)._replace(**fields)
    with memoryview(data) as view:
        pack_header(view[SIZE:], header)
    cells = array("q", bytes(64 * 4))
    assert walker.walk_batches(data, cells, 0, 2**32, True) == (1, SIZE)


@BOTH
def test_checksums_count_only_when_asked(walker: ModuleType) -> None:
    data = bytearray(DATA)
    data[SIZE + 70] ^= 1
    cells = array("q", bytes(64 * 4))
    assert walker.walk_batches(data, cells, 0, 2**32, True)[0] == 1
    assert walker.walk_batches(data, cells, 0, 2**32, False)[0] == 3


@BOTH
def test_bad_arguments_are_refused(walker: ModuleType) -> None:
    for offset_max in (-1, 2**63 - 1):
        with pytest.raises(ValueError, match="out of range"):
            walker.walk_batches(b"", bytearray(64), 0, offset_max, True)
    with pytest.raises(TypeError):
        walker.walk_batches(b"", 0, 0, True)
    with pytest.raises((TypeError, BufferError)):
        walker.walk_batches(DATA, bytes(64), 0, 1, True)
    assert walker.walk_batches(DATA, bytearray(63), 0, HIGHEST, True) == (0, 0)


def test_both_have_as_many_columns_as_there_are() -> None:
    assert batch_columns_plain.COLUMN_COUNT == COLUMN_COUNT
