"""Bits that flip in what no checksum covers: no record is served under a wrong offset.

Base offset, leader epoch, length and magic of any batches of a small log, in pairs and
threes, with an index and without, in one segment or several, after a clean stop and
after a kill, with the gaps that compaction leaves and without, before more is appended
and after that. Every pair with ODRADEK_LONG=1; a sample of them, and every case that
was ever found, in every run.

What nobody can know is left out: where fewer flipped bits than there were explain what
is served (`is_simpler`), and where what is sound contradicts a batch that lies, and
neither outweighs the other: then it may be quarantined with it (`conflict`).
"""

import os
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from odradek.protocol.record_batch import check_crc, scan
from odradek.protocol.records import iterate
from odradek.storage.local.quarantine import Quarantine
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    closed,
    files_of,
    new_log,
    produce,
    reopened,
    sync,
)

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
COUNT = 3
GAPS = {1: 2, 3: 8, 4: 1, 6: 5, 8: 4, 9: 3, 11: 16}
HEADER_BITS = [*range(136)]  # up to the magic byte
OFFSET_BITS = range(64)
UNREADABLE = [*range(64, 96), *range(128, 136)]
# Low and high ones of the offset, its sign, of the epoch, the length and the magic.
SOME_BITS = [*range(57, 64), 39, 32, 1, 0, 96, 127, 95, 92, 88, 64, 128, 135]
SIZES = [1, 200, 1 << 20]


class Flip(NamedTuple):
    """A bit of the batch with this number, counted from its start."""

    batch: int
    bit: int


class Batch(NamedTuple):
    """Where it is, and what it held."""

    path: Path
    position: int
    offsets: range


class Written(NamedTuple):
    log: UnifiedLog
    contents: dict[Path, bytes]
    batches: list[Batch]
    end: int


class Shape(NamedTuple):
    """Which log, and how it was left; durable to its end, or up to batch 6."""

    segment_bytes: int = 500
    is_compacted: bool = False
    has_index: bool = True
    was_clean: bool = True
    is_durable: bool = True


SHAPES = [
    Shape(),
    Shape(has_index=False),
    Shape(segment_bytes=100_000),
    Shape(was_clean=False),
    Shape(was_clean=False, is_durable=False),
    Shape(segment_bytes=100_000, was_clean=False, is_durable=False),
    Shape(is_compacted=True),
    Shape(is_compacted=True, has_index=False),
    Shape(segment_bytes=100_000, is_compacted=True, was_clean=False),
]


@cache
def written(shape: Shape) -> Written:
    policy = frozenset({"compact" if shape.is_compacted else "delete"})
    log = new_log(
        segment_bytes=shape.segment_bytes,
        index_interval_bytes=180,
        cleanup_policy=policy,
    )
    for number in range(12):
        gap = GAPS.get(number, 0) if shape.is_compacted else 0
        log.local.end = log.local.end._replace(offset=log.log_end_offset + gap)
        produce(log, COUNT, timestamp=NOW + 1000 * number)
    sync(log)
    batches = [
        Batch(segment.log.path, at, range(header.base_offset, header.next_offset))
        for segment in log.local.segments
        for at, header in scan(segment.log.read_at(0, segment.size))
    ]
    end = log.log_end_offset
    if shape.was_clean:
        closed(log)
    files = files_of(log)
    contents = {
        path: files.content(path)
        for path in files.paths()
        if shape.has_index or "index" not in path.suffix
    }
    return Written(log, contents, batches, end)


def served(log: UnifiedLog, size: int) -> list[tuple[int, int]]:
    """Offset and key of every record: the key is the offset that it was given."""
    offset, found = log.log_start_offset, []
    while offset < log.high_watermark:
        data = log.read(offset, size, FetchIsolation.HIGH_WATERMARK, may_block=True)
        start = offset
        for at, header in scan(data.records):
            batch = memoryview(data.records)[at : at + header.size]
            assert check_crc(batch, header)
            found += [
                (each.offset, int(each.key or b"-1"))
                for each in iterate(batch)
                if each.offset >= start
            ]
            offset = header.next_offset
        assert offset > start
    return found


def check(
    shape: Shape, flips: Sequence[Flip], size: int = 1 << 20, appended: int = 0
) -> None:
    """Whatever is served has its offset, and what nothing contradicts is served.

    So many batches are ``appended`` before anything is read.
    """
    log, contents, batches, end = written(shape)
    files = FakeFiles()
    for path, content in contents.items():
        files.put(path, content)
    for flip in flips:
        at = batches[flip.batch]
        files.flip(at.path, at.position + flip.bit // 8, 7 - flip.bit % 8)
    claimed = {
        flip.batch: int.from_bytes(
            files.content(batches[flip.batch].path)[at.position :][:8],
            "big",
            signed=True,
        )
        for flip in flips
        for at in (batches[flip.batch],)
    }
    # What is left of these says neither an offset nor how many there were.
    lost = {flip.batch for flip in flips if flip.bit in UNREADABLE}
    log.local.files = files
    recovery_point = end if shape.is_durable else batches[6].offsets.start
    again = reopened(log, was_clean=shape.was_clean, recovery_point=recovery_point)
    new = range(again.log_end_offset, again.log_end_offset + appended * COUNT)
    for _ in range(appended):
        produce(again, COUNT)
    sync(again)
    found = served(again, size)
    offsets = [offset for offset, _ in found]
    assert offsets == sorted(set(offsets))
    wrong = {key for offset, key in found if offset != key}
    right = {offset for offset, key in found if offset == key}
    assert right.issuperset(new)
    for number, batch in enumerate(batches):
        if number in claimed:
            if wrong.intersection(batch.offsets):
                assert not is_contradicted(
                    shape, batches, claimed, lost, number
                ) or is_simpler(batches, claimed, right | wrong, flips)
        elif not right.issuperset(batch.offsets):
            # What is wrong about the last of a log that was killed nobody can say, so
            # it may stand against one that has lost its neighbour.
            is_last_wrong = 11 in claimed and not shape.was_clean
            assert is_last_wrong or any(
                conflict(batches, claimed, lost, hit, number)
                for hit in claimed
                if claimed[hit] != batches[hit].offsets.start
            ), (number, list(again.quarantine))
    assert served(again, 200) == found
    assert list(Quarantine.load(files, DIRECTORY)) == list(again.quarantine)


def conflict(
    batches: list[Batch], claimed: dict[int, int], lost: set[int], hit: int, sound: int
) -> bool:
    """Whether a batch with another offset and a sound one cannot both be right.

    What is between them takes its offsets, wherever it says that they are.
    """
    if batches[hit].path != batches[sound].path:
        return False
    between = range(min(hit, sound) + 1, max(hit, sound))
    fewest = sum(1 if each in lost else COUNT for each in between)
    start, place = claimed[hit], batches[sound].offsets
    if hit < sound:
        return start + COUNT + fewest > place.start
    return start < place.stop + fewest


def is_contradicted(
    shape: Shape,
    batches: list[Batch],
    claimed: dict[int, int],
    lost: set[int],
    hit: int,
) -> bool:
    """Whether anything says that a batch with another offset is wrong.

    Behind the recovery point of a log that was killed nothing does of the last batch,
    nor of the last two that agree, nor where something before it is lost. Where
    compaction leaves gaps, only batches
    that are in the way do.
    """
    sound = [number for number in range(12) if number not in claimed]
    if any(conflict(batches, claimed, lost, hit, each) for each in sound):
        return True
    if shape.is_compacted or len(claimed) > 2:
        return False
    is_last = not shape.was_clean and all(each in claimed for each in range(hit, 12))
    return not is_last or (shape.is_durable and len(claimed) == 1)


def is_simpler(
    batches: list[Batch],
    claimed: dict[int, int],
    served: set[int],
    flips: Sequence[Flip],
) -> bool:
    """Whether fewer flipped bits explain what is served than have flipped.

    Then nobody can know: two neighbours that flipped may agree with each other, and
    the sound batch that they contradict with what one flipped bit makes of it.
    ``served`` are the keys of the records, which are the offsets that they had.
    """
    count = sum(flip.bit not in OFFSET_BITS for flip in flips)
    for number, (path, _, offsets) in enumerate(batches):
        if served.issuperset(offsets):
            continue
        later = [int(each.path.stem) for each in batches if each.path > path]
        first, last = int(path.stem), min(later, default=1 << 12) - COUNT
        for other, (other_path, _, place) in enumerate(batches):
            if served.issuperset(place) and other_path == path:
                start = claimed.get(other, place.start)
                between = COUNT * (abs(number - other) - 1)
                if other < number:
                    first = max(first, start + COUNT + between)
                else:
                    last = min(last, start - COUNT - between)
        said = claimed.get(number, offsets.start) % (1 << 64)
        bits = ((said ^ may).bit_count() for may in range(first, last + 1))
        count += min(bits, default=len(flips))
    return count < len(flips)


BEYOND_THE_END = [Flip(8, 58), Flip(9, 57), Flip(10, 95)]
FOUND = [
    [(2, 0), (4, 61)],
    [(4, 63), (5, 88)],
    [(10, 58), (10, 57)],
    [(1, 62), (0, 92)],
    [(3, 63), (2, 95)],
    [(10, 95), (11, 63)],
    [(7, 62), (8, 92)],
    [(10, 63), (9, 88)],
    [(11, 61), (10, 92)],
    [(0, 62), (2, 64)],
    [(10, 58), (11, 32)],
    [(1, 60), (2, 1)],
    [(3, 61), (4, 128)],
    [(0, 63)],
    [(10, 60)],
    [(10, 62)],
    [(1, 60)],
    [(8, 61), (4, 127)],
    [(0, 64), (2, 62), (3, 64)],
    [(6, 128), (4, 64), (5, 62)],
    [(10, 57), (11, 57)],
    [(4, 61), (5, 62)],
    [(4, 57), (5, 62)],
    [(0, 60), (1, 60)],
    [(0, 61), (1, 62)],
    [(7, 61), (8, 60)],
    [(0, 62), (1, 95), (2, 61)],
    [(9, 57), (11, 57)],
    [(4, 60), (5, 95), (6, 57)],
    [(8, 58), (9, 57), (10, 39)],
    BEYOND_THE_END,
]


@pytest.mark.parametrize("flips", FOUND, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_found_before(shape: Shape, flips: Sequence[tuple[int, int]]) -> None:
    for size in SIZES if IS_LONG else [200]:
        check(shape, [Flip(*each) for each in flips], size)
    check(shape, [Flip(*each) for each in flips], appended=5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_one(shape: Shape) -> None:
    for number in range(12):
        for bit in range(136) if IS_LONG else SOME_BITS[number % 3 :: 3]:
            check(shape, [Flip(number, bit)])


flip = st.builds(Flip, st.integers(0, 11), st.sampled_from(HEADER_BITS))
near = st.integers(0, 9).flatmap(
    lambda first: st.lists(
        st.builds(Flip, st.integers(first, first + 2), st.sampled_from(SOME_BITS)),
        min_size=2,
        max_size=3,
        unique=True,
    )
)


@settings(max_examples=2000 if IS_LONG else 100)
@given(
    shape=st.sampled_from(SHAPES),
    flips=st.one_of(st.lists(flip, min_size=2, max_size=3, unique=True), near),
    size=st.sampled_from(SIZES),
    appended=st.sampled_from([0, 0, 1, 3, 20]),
)
@example(shape=Shape(), flips=[Flip(2, 0), Flip(4, 61)], size=1, appended=0)
@example(shape=SHAPES[3], flips=[Flip(9, 95), Flip(11, 57)], size=1, appended=0)
@example(shape=Shape(), flips=BEYOND_THE_END, size=1, appended=0)
def test_any_two_or_three(
    shape: Shape, flips: list[Flip], size: int, appended: int
) -> None:
    check(shape, flips, size, appended)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_pair(shape: Shape) -> None:
    places = [Flip(number, bit) for number in range(12) for bit in SOME_BITS]
    for flips in combinations(places, 2):
        check(shape, flips)
