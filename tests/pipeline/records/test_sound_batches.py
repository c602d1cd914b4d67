from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.records.damage import Damage
from odradek.pipeline.records.sound_batches import FIELDS, SoundBatches, SoundWalk
from odradek.protocol.record_batch import BatchHeader, read_header, scan
from tests.pipeline.log_directories import small_batches
from tests.pipeline.walks import PLACE, logs

DATA = small_batches(12)
STARTS = [position for position, _ in scan(DATA)]


def walk(data: bytes, total: int | None = None) -> list[SoundBatches | Damage]:
    return list(SoundWalk(PLACE, "log").piece(memoryview(data), 0, total))


@given(logs())
def test_fields_are_those_of_the_headers(data: bytes) -> None:
    headers = [header for _, header in scan(data)]
    found: list[list[int]] = [[] for _ in FIELDS]
    for each in walk(data):
        assert isinstance(each, SoundBatches)
        for column, name in zip(found, FIELDS, strict=True):
            column += each.field(name).tolist()
    places = [BatchHeader._fields.index(name) for name in FIELDS]
    assert found == [[header[place] for header in headers] for place in places]


def test_parts_and_flags() -> None:
    (found,) = walk(DATA)
    assert isinstance(found, SoundBatches)
    part = found.part(np.array([1, 3]))
    assert part.base_offsets.tolist() == [2, 6]
    assert part.next_offsets.tolist() == [4, 8]
    assert part.header(1) == read_header(DATA, STARTS[3])
    assert bytes(part.batch(0)) == DATA[STARTS[1] : STARTS[2]]
    assert found.flags == 0
    assert found.part(slice(0, 0)).flags == 0


@given(logs(), st.lists(st.integers(1, 300), max_size=20))
def test_pieces_of_any_size_give_the_same(data: bytes, sizes: list[int]) -> None:
    """As a file is read: what is not consumed is read again, with what is needed."""
    walk = SoundWalk(PLACE, "log")
    position, found = 0, []
    steps = iter(sizes)
    while position < len(data):
        size = max(next(steps, 100), walk.needed)
        piece = memoryview(data)[position : position + size]
        for each in walk.piece(piece, position, len(data) - position):
            assert isinstance(each, SoundBatches)
            found += (each.positions + each.start).tolist()
        position += walk.consumed
    assert found == [position for position, _ in scan(data)]
    ends = [header.next_offset for _, header in scan(data)]
    assert walk.next_offset == (ends[-1] if ends else 0)


@pytest.mark.parametrize(
    ("place", "bit", "reason"),
    [
        (70, 1, "the checksum is wrong"),
        (16, 1, "magic 3 is not that of a batch"),
        (0, 0x80, "offset -9223372036854775806 after 1"),
        (8, 0x10, "a length of "),
        (10, 0xFF, "a length of "),
        (23, 0x80, "offsets 2 to "),
    ],
)
def test_damage_is_named_and_walked_around(place: int, bit: int, reason: str) -> None:
    data = bytearray(DATA)
    data[STARTS[1] + place] ^= bit
    found = walk(bytes(data), len(data))
    (before, damage, behind) = found
    assert isinstance(before, SoundBatches)
    assert isinstance(damage, Damage)
    assert isinstance(behind, SoundBatches)
    assert (damage.position, damage.end) == (STARTS[1], STARTS[2])
    assert damage.next_offset == 2
    assert damage.reason.startswith(reason)
    assert behind.base_offsets[0] == 4


def test_zeros_at_the_end_are_damage() -> None:
    (_, damage) = walk(DATA + bytes(1000), len(DATA) + 1000)
    assert isinstance(damage, Damage)
    assert (damage.position, damage.end) == (len(DATA), len(DATA) + 1000)
    assert damage.offset_behind == damage.next_offset + 1


def test_a_few_bytes_are_no_batch() -> None:
    (_, damage) = walk(DATA + b"abc", len(DATA) + 3)
    assert isinstance(damage, Damage)
    assert damage.reason == "3 bytes are not a batch"
    assert len(walk(DATA + b"abc")) == 1  # of an answer: cut


def test_offsets_above_the_limit_are_damage() -> None:
    walk = SoundWalk(PLACE, "log", 0, offset_max=9)
    found = list(walk.piece(memoryview(DATA), 0, len(DATA)))
    assert [isinstance(each, Damage) for each in found] == [False, True]
    assert walk.next_offset == 10


def test_offsets_that_go_back_are_damage() -> None:
    parts = [DATA[start:end] for start, end in pairwise([*STARTS, len(DATA)])]
    found = walk(
        parts[3] + parts[1] + parts[4], sum(map(len, (parts[i] for i in (3, 1, 4))))
    )
    assert [type(each) for each in found] == [SoundBatches, Damage, SoundBatches]
    assert isinstance(found[1], Damage)
    assert found[1].reason == "offset 2 after 7"
