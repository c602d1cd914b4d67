import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.records.resync import find_sound_batch
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    BatchHeader,
    pack_header,
    read_header,
    scan,
)
from tests.pipeline.log_directories import small_batches
from tests.processor import turns

DATA = small_batches(6)
STARTS = [position for position, _ in scan(DATA)]


@given(st.integers(0, len(DATA) + 5), st.integers(0, 14))
def test_the_next_batch_is_found_from_anywhere(position: int, offset: int) -> None:
    wanted = [
        start
        for start in STARTS
        if start >= position and read_header(DATA, start).base_offset >= offset
    ]
    found = find_sound_batch(memoryview(DATA), position, offset)
    assert found == (wanted[0] if wanted else None)


def test_a_batch_that_ends_behind_the_limit_is_none() -> None:
    data = memoryview(DATA)
    assert find_sound_batch(data, 1, 0, offset_max=3) == STARTS[1]
    assert find_sound_batch(data, 1, 0, offset_max=2) is None


def test_noise_in_between_and_damaged_ones_are_passed() -> None:
    first, second, third = (DATA[start:end] for start, end in pairwise(STARTS[:4]))
    broken = bytearray(second)
    broken[-1] ^= 1
    data = first + b"\x02" * 100 + bytes(broken) + b"\0" * 7 + third
    assert find_sound_batch(memoryview(data), 1, 0) == len(data) - len(third)


def test_too_little_for_a_batch() -> None:
    assert find_sound_batch(memoryview(b""), 0, 0) is None
    assert find_sound_batch(memoryview(bytes(BATCH_OVERHEAD - 1)), 0, 0) is None


def test_what_looks_like_batches_everywhere_takes_no_hours() -> None:
    """Each of the headers says that its batch goes on to the end of 8 MiB."""
    size = 8 << 20
    data = bytearray(size)
    for position in range(0, size - BATCH_OVERHEAD, 64):
        length = size - position - 12
        fields = (0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 0)
        pack_header(memoryview(data)[position:], BatchHeader(5, length, *fields))
    before = time.process_time()
    assert find_sound_batch(memoryview(data), 0, 0) is None
    assert turns(time.process_time() - before) < 100_000_000  # fifteen times as much
