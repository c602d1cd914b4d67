"""Index files cut at every byte and overwritten anywhere: lookups stay right."""

import logging
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.storage.files.file_system import ColdRead
from odradek.storage.segment.log_segment import LogSegment
from tests.fakes.files import FakeFiles
from tests.storage.batches import append, batch, new_segment, reopened

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Of how many places one is tried: of bits, all eight of a byte, in turn.
STRIDE = 1 if IS_LONG else 5
INDEX = "00000000000000000000.index"
TIME_INDEX = "00000000000000000000.timeindex"
COUNT = 30
IN_ORDER = [1000 + 10 * number for number in range(COUNT)]
# The largest in the middle, some equal, some missing.
MIXED = [1000 + (number * 37) % 200 for number in range(COUNT - 2)] + [-1, 1000]
OUTLIER = [1000] * 10 + [5000] + [1000 + number for number in range(COUNT - 11)]
SHAPES = [IN_ORDER, MIXED, OUTLIER]


def written(timestamps: list[int]) -> tuple[FakeFiles, LogSegment]:
    """Batches of two records at the same time, and both indexes."""
    files = FakeFiles()
    segment = new_segment(files, index_interval_bytes=250)
    for number, timestamp in enumerate(timestamps):
        data = batch(2 * number, 1, timestamp=timestamp)
        append(segment, data)
    segment.close()
    return files, segment


def assert_lookups_are_right(segment: LogSegment, timestamps: list[int]) -> None:
    for number in range(COUNT):
        for offset in (2 * number - 1, 2 * number):
            if offset >= 0:
                found = segment.reader.find(offset)
                assert found is not None
                assert found[0] == number * (segment.size // COUNT)
    assert segment.reader.find(2 * COUNT) is None
    assert segment.max_timestamp == max(timestamps)
    for wanted in {*timestamps, 0, 1001, 1105, 9000}:
        after = [n for n, t in enumerate(timestamps) if t >= wanted]
        record = segment.reader.find_offset_by_timestamp(wanted)
        expected = (timestamps[after[0]], 2 * after[0]) if after else None
        assert (record[:2] if record else None) == expected


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("timestamps", SHAPES, ids=["in order", "mixed", "outlier"])
@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
def test_index_cut_at_every_byte(name: str, timestamps: list[int], grows: bool) -> None:
    files, segment = written(timestamps)
    whole = {each: files.content(each) for each in (INDEX, TIME_INDEX)}
    for size in range(0, len(whole[name]), STRIDE):
        for each, data in whole.items():
            files.put(segment.directory / each, data)
        files.put(segment.directory / name, whole[name][:size])
        again = reopened(segment)
        if grows:
            assert again.activate().next_offset == 2 * COUNT - 1
        assert_lookups_are_right(again, timestamps)


@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
@settings(max_examples=150 if IS_LONG else 50)
@given(
    timestamps=st.sampled_from(SHAPES),
    at=st.integers(0, 400),
    data=st.one_of(
        st.binary(min_size=1, max_size=40),
        st.integers(0, 40).map(bytes),
        st.integers(1, 40).map(lambda size: b"\xff" * size),
    ),
    grows=st.booleans(),
)
def test_index_overwritten_anywhere(
    name: str, timestamps: list[int], at: int, data: bytes, grows: bool
) -> None:
    files, segment = written(timestamps)
    content = bytearray(files.content(name))
    at = min(at, len(content))
    content[at : at + len(data)] = data
    files.put(segment.directory / name, bytes(content))
    again = reopened(segment)
    if grows:
        assert again.activate().next_offset == 2 * COUNT - 1
    assert_lookups_are_right(again, timestamps)


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("offset", range(2, 20, 2))
def test_time_entry_of_a_later_batch_with_the_same_time(
    offset: int, grows: bool
) -> None:
    """The first ten batches are of one time, and the entry is that of the first."""
    files, segment = written(OUTLIER)
    content = bytearray(files.content(TIME_INDEX))
    assert content[:12] == (1000).to_bytes(8, "big") + bytes(4)
    content[11] = offset
    files.put(segment.directory / TIME_INDEX, bytes(content))
    again = reopened(segment)
    if grows:
        assert again.activate().next_offset == 2 * COUNT - 1
    assert_lookups_are_right(again, OUTLIER)


@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
def test_index_with_any_flipped_bit(name: str) -> None:
    files, segment = written(MIXED)
    whole = {each: files.content(each) for each in (INDEX, TIME_INDEX)}
    for bit in range(0, 8 * len(whole[name]), STRIDE):
        for each, data in whole.items():
            files.put(segment.directory / each, data)
        files.flip(name, bit // 8, bit=bit % 8)
        assert_lookups_are_right(reopened(segment), MIXED)


def test_warning_only_about_an_index_that_should_be_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    files, segment = written(IN_ORDER)
    files.unlink(segment.directory / INDEX)
    after_a_kill = reopened(segment)
    after_a_kill.indexes.are_expected = False
    assert after_a_kill.reader.find(7) is not None
    assert not caplog.text
    files.unlink(segment.directory / INDEX)
    assert reopened(segment).reader.find(7) is not None
    assert "written anew" in caplog.text


@pytest.mark.parametrize("by_time", [False, True])
def test_index_is_not_written_anew_from_a_cold_log(by_time: bool) -> None:
    """The loop would wait for all of it: who reads warms it up first."""
    files, segment = written(IN_ORDER)
    for name in (INDEX, TIME_INDEX):
        files.unlink(segment.directory / name)
    files.chill("00000000000000000000.log")
    again = reopened(segment)

    def look() -> object:
        if by_time:
            return again.reader.find_offset_by_timestamp(1105, may_block=False)
        return again.reader.read(7, None, 100, may_block=False)

    with pytest.raises(ColdRead) as raised:
        look()
    assert raised.value.position + raised.value.size >= segment.size
    assert not files.exists(segment.directory / INDEX)
    raised.value.warm()
    assert look()
    assert files.exists(segment.directory / INDEX)
