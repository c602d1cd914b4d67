"""Log files damaged while the broker was stopped: every sound record is read."""

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from odradek.protocol.record_batch import BATCH_OVERHEAD, check_crc, scan
from odradek.protocol.records import iterate
from odradek.storage.log.retention import delete_old_segments
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
EXAMPLES = 300 if IS_LONG else 50
STEP = 1 if IS_LONG else 11
BATCHES = 24
COUNT = 3


def written() -> tuple[FakeFiles, UnifiedLog]:
    """Several segments of batches of three records, a second apart, closed."""
    log = new_log(segment_bytes=1100, index_interval_bytes=300)
    for number in range(BATCHES):
        produce(log, COUNT, timestamp=NOW + 1000 * number)
    sync(log)
    return files_of(log), closed(log)


def consumed(log: UnifiedLog, size: int, end: int | None = None) -> list[int]:
    """The offsets that a consumer gets, with CRCs checked as clients do."""
    offset, found = log.log_start_offset, []
    while offset < (log.high_watermark if end is None else end):
        data = log.read(offset, size, FetchIsolation.HIGH_WATERMARK).records
        next_offset = offset
        for position, header in scan(data):
            batch = memoryview(data)[position : position + header.size]
            assert check_crc(batch, header)
            records = list(iterate(batch))
            assert all(record.key == b"%d" % record.offset for record in records)
            found += [record.offset for record in records if record.offset >= offset]
            next_offset = header.next_offset
        assert next_offset > offset, (offset, len(data))
        offset = next_offset
    return found


def spans(log: UnifiedLog) -> list[tuple[str, int, int, range]]:
    """File, start, end and offsets of every batch."""
    found = []
    for segment in log.local.segments:
        data = segment.log.read_at(0, segment.size)
        for position, header in scan(data):
            offsets = range(header.base_offset, header.next_offset)
            end = position + header.size
            found.append((segment.log.path.name, position, end, offsets))
    return found


def assert_rest_is_read(
    files: FakeFiles, log: UnifiedLog, damaged: list[tuple[str, range]], size: int
) -> None:
    """After bytes of files were changed."""
    if any(_is_offset_of_last(name, at) for name, at in damaged):
        return
    hit = {
        offset
        for file, start, end, offsets in spans_before
        for name, at in damaged
        if file == name and start < at.stop and at.start < end
        for offset in offsets
    }
    again = reopened(log, was_clean=True, recovery_point=BATCHES * COUNT)
    found = consumed(again, size)
    assert found == sorted(set(found))
    assert set(range(BATCHES * COUNT)) - hit <= set(found)
    for number in range(BATCHES):
        wanted = NOW + 1000 * number
        record = again.reading.find_offset(wanted)
        sound = [offset for offset in found if offset >= COUNT * number]
        assert (record.offset if record else None) == (sound[0] if sound else None)
    assert consumed(again, 200) == found
    once_more = reopened(log, was_clean=True, recovery_point=BATCHES * COUNT)
    assert list(once_more.quarantine) == list(again.quarantine)
    assert consumed(once_more, size) == found
    killed = reopened(log, was_clean=False, recovery_point=BATCHES * COUNT)
    assert set(consumed(killed, size)) >= set(range(BATCHES * COUNT)) - hit


def _is_offset_of_last(name: str, at: range) -> bool:
    """Only the recovery point contradicts the offset of the last batch of all."""
    last_name, start, _, _ = spans_before[-1]
    return name == last_name and start < at.stop and at.start < start + 8


spans_before = spans(written()[1])
NAMES = sorted({name for name, *_ in spans_before})
SIZE = next(end for _, _, end, _ in spans_before)


@settings(max_examples=EXAMPLES)
@given(
    name=st.sampled_from(NAMES),
    bit=st.integers(0, 8 * 1200),
    size=st.sampled_from([1, 200, 500, 1 << 20]),
)
def test_any_flipped_bit(name: str, bit: int, size: int) -> None:
    files, log = written()
    position = bit // 8 % len(files.content(name))
    files.flip(name, position, bit=bit % 8)
    assert_rest_is_read(files, log, [(name, range(position, position + 1))], size)


@settings(max_examples=EXAMPLES)
@given(
    flips=st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(0, 8 * 1200)),
        min_size=2,
        max_size=6,
    ),
    size=st.sampled_from([1, 200, 1 << 20]),
)
@example(flips=[(NAMES[-1], 32), (NAMES[-1], 8 * (SIZE + 17))], size=1)
@example(flips=[(NAMES[0], 1600), (NAMES[0], 3274)], size=1)
@example(flips=[(NAMES[0], 1600), (NAMES[0], 3274)], size=1 << 20)
def test_several_flipped_bits(flips: list[tuple[str, int]], size: int) -> None:
    files, log = written()
    damaged = []
    for name, bit in flips:
        position = bit // 8 % len(files.content(name))
        files.flip(name, position, bit=bit % 8)
        damaged.append((name, range(position, position + 1)))
    assert_rest_is_read(files, log, damaged, size)


@pytest.mark.parametrize("name", [NAMES[0], NAMES[-1]])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_bit_of_a_header(name: str, number: int) -> None:
    for bit in range(0, 8 * BATCH_OVERHEAD, STEP):
        files, log = written()
        position = number * SIZE + bit // 8
        if position >= len(files.content(name)):
            return
        files.flip(name, position, bit=bit % 8)
        assert_rest_is_read(
            files, log, [(name, range(position, position + 1))], 1 << 20
        )


@settings(max_examples=EXAMPLES)
@given(
    name=st.sampled_from(NAMES),
    at=st.integers(0, 1200),
    data=st.one_of(
        st.binary(min_size=1, max_size=500),
        st.integers(1, 1200).map(bytes),
        st.integers(1, 900).map(lambda size: b"\xff" * size),
    ),
    size=st.sampled_from([1, 200, 1 << 20]),
)
@example(name=NAMES[0], at=0, data=bytes(1200), size=1)
@example(name=NAMES[0], at=0, data=bytes(925), size=1)  # the last batch says it is at 0
def test_any_overwritten_bytes(name: str, at: int, data: bytes, size: int) -> None:
    files, log = written()
    content = bytearray(files.content(name))
    at %= len(content)
    data = data[: len(content) - at]
    end = at + len(data)
    if any(f == name and start < end < start + 8 for f, start, *_ in spans_before):
        return  # a whole batch with a wrong offset, and nothing sound before it
    content[at:end] = data
    files.put(DIRECTORY / name, bytes(content))
    assert_rest_is_read(files, log, [(name, range(at, end))], size)


@settings(max_examples=EXAMPLES)
@given(name=st.sampled_from(NAMES[:-1]), cut=st.integers(1, 1100))
def test_any_cut_of_an_old_segment(name: str, cut: int) -> None:
    files, log = written()
    length = len(files.content(name))
    cut = min(cut, length)
    files.cut(name, by=cut)
    assert_rest_is_read(files, log, [(name, range(length - cut, length))], 1 << 20)


@pytest.mark.parametrize("offset", [60, 64, 67, 69, 71])
def test_truncation_in_and_around_damage(offset: int) -> None:
    """The batch at 66 to 68 is damaged; the range goes as a whole if it is cut."""
    files, log = written()
    name = NAMES[-1]
    files.flip(name, 2 * SIZE + 70)
    again = reopened(log, was_clean=True, recovery_point=BATCHES * COUNT)
    assert 66 not in consumed(again, 1 << 20)
    again.truncation.truncate_to(offset, NOW)
    assert again.log_end_offset == offset
    again.visibility.raise_to(offset)
    # As in Kafka nothing is at the offsets of a batch that was cut with its last ones.
    end = offset if 66 <= offset < 69 else offset // 3 * 3
    before = consumed(again, 1 << 20, end)
    sound = [each for each in range(offset // 3 * 3) if each not in (66, 67, 68)]
    assert before == sound
    produce(again, COUNT)
    sync(again)
    new = range(offset, offset + COUNT)
    assert consumed(again, 1 << 20) == [*sound, *new]
    closed(again)
    last = reopened(again, was_clean=True, recovery_point=again.log_end_offset)
    assert consumed(last, 1 << 20) == [*sound, *new]


def test_deleted_segments_take_their_damage_along() -> None:
    files, log = written()
    files.flip(NAMES[0], 70)
    again = reopened(log, was_clean=True, recovery_point=BATCHES * COUNT)
    assert 0 not in consumed(again, 1 << 20)
    assert len(again.damage) == 1
    again.increment_log_start(40)
    delete_old_segments(again, NOW)
    assert len(again.damage) == 0
    assert not files.exists(DIRECTORY / "quarantine")
