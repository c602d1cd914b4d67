"""Damage in a log file, and how much of it a scan gives up."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.record_batch import read_header
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.scan.result import DamagedRange, OffsetRepair, Recovery
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch, sized_batch

PATH = Path("/data/t-0/00000000000000000000.log")
COUNT = 6
SIZE = 200
NO_GAPS = Expected(has_gaps=False)


def whole_log() -> bytearray:
    """Six batches of one record and 200 bytes each."""
    return bytearray(b"".join(sized_batch(offset, SIZE) for offset in range(COUNT)))


def scan_bytes(
    data: bytes | bytearray,
    start: int = 0,
    checks_crc: bool = True,
    expected: Expected = NO_GAPS,
) -> tuple[list[int], Recovery]:
    """The base offsets of the valid batches, and what the scan says of the rest."""
    files = FakeFiles()
    files.put(PATH, bytes(data))
    scan = BatchScan(files.open(PATH), start, 0, checks_crc, expected)
    offsets = []
    for position, header, found in scan:
        assert found[8:] == data[position + 8 : position + header.size]
        assert read_header(found) == header
        offsets.append(header.base_offset)
    many = BatchScan(files.open(PATH), start, 0, checks_crc, expected)
    assert [offset for run in many.runs() for offset in run.columns.base_offsets] == (
        offsets
    )
    assert many.recovery() == scan.recovery()
    return offsets, scan.recovery()


def number(data: bytearray, position: int, size: int, value: int) -> None:
    data[position : position + size] = value.to_bytes(size, "big", signed=True)


def test_undamaged_log_is_clean() -> None:
    offsets, recovery = scan_bytes(whole_log())
    assert offsets == list(range(COUNT))
    assert recovery == Recovery(COUNT * SIZE, COUNT, COUNT * SIZE, ())
    assert recovery.is_clean


def test_empty_log_is_clean() -> None:
    assert scan_bytes(b"") == ([], Recovery(0, 0, 0, ()))
    assert scan_bytes(b"")[1].is_clean


def test_scan_starts_where_it_is_told() -> None:
    offsets, recovery = scan_bytes(whole_log(), start=2 * SIZE)
    assert offsets == [2, 3, 4, 5]
    assert recovery.is_clean


@pytest.mark.parametrize("kept", range(SIZE))
def test_batch_cut_at_any_byte_is_a_torn_tail(kept: int) -> None:
    data = whole_log()[: 5 * SIZE + kept]
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 1, 2, 3, 4]
    assert recovery == Recovery(5 * SIZE, 5, len(data), ())
    assert recovery.is_torn == (kept > 0)


@pytest.mark.parametrize("tail", [bytes(1000), b"\xff" * 96, b"\2" * 96, b"\0" * 3])
def test_zeros_and_noise_behind_the_end_are_a_torn_tail(tail: bytes) -> None:
    offsets, recovery = scan_bytes(whole_log() + tail)
    assert offsets == list(range(COUNT))
    assert (recovery.valid_end, recovery.damaged) == (COUNT * SIZE, ())
    assert recovery.is_torn


@given(st.integers(0, COUNT - 1), st.integers(0, SIZE - 1), st.integers(0, 7))
def test_flipped_bit_costs_one_batch_at_most(
    batch_number: int, at: int, bit: int
) -> None:
    data = whole_log()
    data[batch_number * SIZE + at] ^= 1 << bit
    offsets, recovery = scan_bytes(data)
    lost = set(range(COUNT)) - set(offsets)
    is_outside_crc = at < 8 or 12 <= at < 16  # base offset, leader epoch
    assert lost == {batch_number} or (is_outside_crc and len(lost) <= 1)
    if at < 8 and batch_number == COUNT - 1:
        return  # nothing follows that would contradict a higher offset
    if at < 8:
        assert not lost
        assert [(each.position, each.base_offset) for each in recovery.repairs] == [
            (batch_number * SIZE, batch_number)
        ]
    if lost and batch_number < COUNT - 1:
        start = batch_number * SIZE
        assert recovery.damaged == (
            DamagedRange(start, start + SIZE, batch_number, batch_number + 1),
        )
        assert not recovery.is_torn
    elif lost:
        assert recovery.is_torn


def test_two_damaged_batches_are_two_ranges() -> None:
    data = whole_log()
    data[1 * SIZE + 100] ^= 1
    data[4 * SIZE + 100] ^= 1
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 2, 3, 5]
    assert recovery.damaged == (
        DamagedRange(SIZE, 2 * SIZE, 1, 2),
        DamagedRange(4 * SIZE, 5 * SIZE, 4, 5),
    )


def test_neighbours_that_are_damaged_are_one_range() -> None:
    data = whole_log()
    data[1 * SIZE : 3 * SIZE - 7] = bytes(2 * SIZE - 7)
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 3, 4, 5]
    assert recovery.damaged == (DamagedRange(SIZE, 3 * SIZE, 1, 3),)


@pytest.mark.parametrize("length", [-1, 0, 48, 49, 5000, 2**31 - 1, 2 * SIZE - 12])
def test_length_that_lies_costs_one_batch(length: int) -> None:
    data = whole_log()
    number(data, SIZE + 8, 4, length)
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 2, 3, 4, 5]
    assert recovery.damaged == (DamagedRange(SIZE, 2 * SIZE, 1, 2),)


@pytest.mark.parametrize(("place", "claimed"), [(2, 1000), (3, 1), (4, -7), (0, 3)])
def test_offset_that_neighbours_contradict_is_put_right(
    place: int, claimed: int
) -> None:
    data = whole_log()
    number(data, place * SIZE, 8, claimed)
    offsets, recovery = scan_bytes(data)
    assert offsets == list(range(COUNT))
    assert recovery.damaged == ()
    repair = OffsetRepair(place * SIZE, SIZE, claimed, place, place, -1)
    assert recovery.repairs == (repair,)
    assert not recovery.is_clean


@pytest.mark.parametrize(("place", "claimed"), [(2, 1000), (3, 1)])
def test_where_there_may_be_gaps_it_is_damaged(place: int, claimed: int) -> None:
    data = whole_log()
    number(data, place * SIZE, 8, claimed)
    offsets, recovery = scan_bytes(data, expected=Expected())
    assert offsets == [each for each in range(COUNT) if each != place]
    start = place * SIZE
    assert recovery.damaged == (DamagedRange(start, start + SIZE, place, place + 1),)


def test_offset_that_falls_into_the_batch_before_is_put_right() -> None:
    batches = [batch(offset, 5) for offset in range(0, 25, 5)]
    number(batches[2], 0, 8, 7)
    offsets, recovery = scan_bytes(b"".join(map(bytes, batches)))
    assert offsets == [0, 5, 10, 15, 20]
    assert [each.claimed for each in recovery.repairs] == [7]


@pytest.mark.parametrize("offset", [-1, 2**31, 2**62])
def test_offset_outside_the_segment_is_damage(offset: int) -> None:
    data = whole_log()
    number(data, 5 * SIZE, 8, offset)
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 1, 2, 3, 4]
    assert recovery.is_torn


def test_batch_at_an_index_entry_is_not_doubted_for_a_lower_one_behind_it() -> None:
    data = whole_log()
    number(data, 5 * SIZE, 8, 2)
    offsets, recovery = scan_bytes(data, start=4 * SIZE)
    assert offsets == [4]
    assert recovery.valid_end == 5 * SIZE


def test_gaps_between_offsets_are_not_damage() -> None:
    data = b"".join(bytes(batch(offset, 3)) for offset in (0, 10, 50, 51 + 3))
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 10, 50, 54]
    assert recovery.is_clean
    assert recovery.next_offset == 57


def test_without_checksums_only_shape_and_order_count() -> None:
    data = whole_log()
    data[1 * SIZE + 100] ^= 1
    assert scan_bytes(data, checks_crc=False)[0] == list(range(COUNT))
    data[3 * SIZE + 16] = 1  # magic
    offsets, recovery = scan_bytes(data, checks_crc=False)
    assert offsets == [0, 1, 2, 4, 5]
    assert recovery.damaged == (DamagedRange(3 * SIZE, 4 * SIZE, 3, 4),)


def test_old_batch_inside_a_damaged_one_is_not_taken_for_the_next() -> None:
    inner = bytes(batch(0))
    outer = bytearray(batch(6, value=b"x" * 30 + inner + b"y" * 30))
    outer[-1] ^= 1
    data = whole_log() + outer + batch(7)
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 1, 2, 3, 4, 5, 7]
    assert len(recovery.damaged) == 1


def test_batch_inside_a_damaged_one_does_not_lead_to_its_end() -> None:
    inner = bytes(batch(7))
    outer = bytearray(batch(6, 2, value=b"x" * 30 + inner + b"y" * 30))
    outer[-1] ^= 1
    data = whole_log() + outer + batch(8)
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 1, 2, 3, 4, 5, 8]
    assert recovery.damaged == (DamagedRange(6 * SIZE, 6 * SIZE + len(outer), 6, 8),)


def test_batch_larger_than_what_is_read_at_once() -> None:
    large = batch(1, value=bytes(5 << 20))
    data = batch(0) + large + batch(2)
    assert scan_bytes(data)[0] == [0, 1, 2]
    data[-100 - len(large) // 2] ^= 1
    offsets, recovery = scan_bytes(data)
    assert offsets == [0, 2]
    assert recovery.damaged == (
        DamagedRange(len(batch(0)), len(data) - len(batch(2)), 1, 2),
    )


def test_everything_damaged_is_a_torn_file() -> None:
    data = whole_log()
    for start in range(0, len(data), SIZE):
        data[start + 100] ^= 1
    offsets, recovery = scan_bytes(data)
    assert offsets == []
    assert recovery == Recovery(0, 0, len(data), ())
