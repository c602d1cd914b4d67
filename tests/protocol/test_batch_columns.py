"""Batches many at a time, in columns: the same as one by one."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.batch_columns import BatchRun, BatchWalk, single_run
from odradek.protocol.record_batch import read_header, scan
from odradek.protocol.records import NewRecord, build_batch
from tests.protocol.walked_batches import batches, laid_out, written

OFFSETS = (0, 2**62)


def walked(data: bytes, position: int = 0) -> BatchRun | None:
    return BatchWalk(len(data)).run(memoryview(data), position, OFFSETS, True)


@given(batches)
def test_run_holds_what_a_scan_of_the_headers_says(given_batches: list[int]) -> None:
    data = written(given_batches)
    run = walked(data, 1000)
    if run is None:
        assert not given_batches
        return
    headers = [(1000 + at, header) for at, header in scan(data)]
    assert [found[:2] for found in run.batches()] == headers
    assert b"".join(batch for _, _, batch in run.batches()) == data
    assert (run.length, run.start, run.end) == (len(headers), 1000, 1000 + len(data))
    assert run.next_offset == headers[-1][1].next_offset
    times = [header.max_timestamp for _, header in headers]
    largest = [max(times[: place + 1]) for place in range(run.length)]
    assert list(run.columns.max_timestamps) == largest
    for place, of_max in enumerate(run.columns.places_of_max):
        assert of_max == times.index(largest[place])


@given(batches, st.integers(0, 9), st.integers(0, 9))
def test_part_of_a_run(given_batches: list[int], first: int, behind: int) -> None:
    run = walked(written(given_batches), 500)
    if run is None:
        return
    behind = min(behind, run.length)
    part = run.part(first, behind)
    found = list(run.batches())[first:behind]
    assert (list(part.batches()) if part else []) == found
    if part is not None:
        assert (part.start, part.end) == (found[0][0], found[-1][0] + found[-1][1].size)


def test_outside_of_ranges() -> None:
    run = walked(written([0] * 6))
    assert run is not None
    (size,) = {header.size for _, header, _ in run.batches()}
    assert list(run.outside([])) == [run]
    found = [each.start // size for each in run.outside([(0, 1), (2 * size, 4 * size)])]
    assert found == [1, 4, 5]


def test_single_run_is_a_run_of_one() -> None:
    data = written([7])
    one, run = single_run(30, memoryview(data), read_header(data)), walked(data, 30)
    assert run is not None
    assert list(one.batches()) == list(run.batches())
    assert list(map(list, one.columns)) == list(map(list, run.columns))
    assert one[:3] == run[:3]


def test_more_batches_than_the_columns_hold() -> None:
    batch = build_batch([NewRecord()])
    data = laid_out([batch] * 20_000)
    run = walked(data)
    assert run is not None
    assert run.length == 1 << 14
    assert run.end == run.length * len(batch)


def test_checksums_of_every_length() -> None:
    """Which parts of a batch are taken in by stretches, words and bytes differs."""
    random = Random(3)
    sizes = [*range(500), 4096, 16_384, 100_001]
    values = [random.randbytes(size) for size in sizes]
    data = laid_out([build_batch([NewRecord(None, value)]) for value in values])
    run = walked(data)
    assert run is not None
    assert (run.length, run.end) == (len(sizes), len(data))
    for place in (0, 100, 499, 500, 502):
        damaged = bytearray(data)
        damaged[run.columns.positions[place] + 65] ^= 1
        found = walked(bytes(damaged))
        assert (found.length if found else 0) == place
