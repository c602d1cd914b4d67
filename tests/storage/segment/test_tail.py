"""The tail gives what the file gives, within its memory, or nothing."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import OffsetOutOfRange
from odradek.storage.files.files import Buffer
from odradek.storage.files.tail_memory import TailMemory
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.segment.tail import LogTail
from odradek.storage.values.log_read import FetchIsolation, SegmentRead
from tests.fakes.files import FakeFiles
from tests.storage.logs import NOW, new_log, produce

OFFSETS = 3  # of each batch


class Kept(NamedTuple):
    tail: LogTail
    file: bytes
    memory: TailMemory


def kept(sizes: list[int], memory_size: int = 1 << 20) -> Kept:
    """Batches of these sizes, in a tail and in a file."""
    memory = TailMemory(memory_size)
    tail, file = LogTail(memory), b""
    for place, size in enumerate(sizes):
        batch = bytes([place % 251]) * size
        view = memoryview(bytearray(batch))
        tail.add(view, len(file), OFFSETS * place, OFFSETS * (place + 1))
        file += batch
    return Kept(tail, file, memory)


@given(
    st.lists(st.sampled_from([1, 61, 300, 4096, 5000]), min_size=1, max_size=40),
    st.data(),
    st.booleans(),
)
def test_it_gives_what_is_in_the_file(
    sizes: list[int], data: st.DataObject, min_one: bool
) -> None:
    tail, file, _ = kept(sizes)
    for _ in range(3):
        offset = data.draw(st.integers(0, OFFSETS * len(sizes) - 1))
        stop = data.draw(st.integers(offset // OFFSETS, len(sizes)))
        end = sum(sizes[:stop])
        size_max = data.draw(st.sampled_from([0, 1, 61, 700, 6000, 1 << 20]))
        found = tail.read(offset, end, size_max, min_one)
        place = offset // OFFSETS
        position = sum(sizes[:place])
        limit = max(size_max, sizes[place]) if min_one else size_max
        records = file[position : min(end, position + limit)]
        if found is None:
            assert not records or stop - place > 60
        else:
            assert found == SegmentRead(position, records, limit < sizes[place])


def test_readers_of_one_place_share_a_buffer() -> None:
    tail, file, _ = kept([5000, 100, 200])
    one, same = (tail.read(0, 5000, 1 << 20, True) for _ in range(2))
    assert one is not None
    assert same is not None
    assert one.records is same.records
    several, again = (tail.read(1, 5300, 1 << 20, True) for _ in range(2))
    assert several is again
    assert several == SegmentRead(0, file, False)


@given(st.lists(st.sampled_from([1, 300, 5000]), max_size=80), st.integers(0, 20_000))
def test_memory_is_bounded_and_the_oldest_go_first(
    sizes: list[int], memory_size: int
) -> None:
    tail, _, memory = kept(sizes, memory_size)
    assert 0 <= memory.size <= memory_size
    places = range(len(sizes))
    there = [
        tail.read(OFFSETS * place, 1 << 30, 1, True) is not None for place in places
    ]
    assert there == sorted(there)
    tail.clear()
    assert memory.size == 0


def test_a_small_batch_does_not_keep_the_buffer_alive_that_it_came_in() -> None:
    memory = TailMemory(1 << 20)
    tail = LogTail(memory)
    received = memoryview(bytearray(60_000))
    tail.add(received[10:110], 0, 0, 1)
    assert memory.size == memory.page_size
    tail.add(received[110:5110], 100, 1, 2)  # this one does, and says so
    assert memory.size > 60_000


def test_what_does_not_follow_begins_anew() -> None:
    memory = TailMemory(1 << 20)
    tail = LogTail(memory)
    tail.add(b"x" * 100, 0, 0, 1)
    tail.add(b"y" * 100, 300, 5, 6)
    assert tail.read(0, 400, 100, True) is None
    assert tail.read(4, 400, 100, True) is None
    assert tail.read(5, 400, 100, True) == SegmentRead(300, b"y" * 100, False)


def test_nothing_is_kept_without_memory() -> None:
    tail, _, memory = kept([100, 200], memory_size=0)
    assert tail.read(0, 100, 100, True) is None
    assert memory.size == 0


# In a log: two of them, of which one keeps nothing, are told the same.

LogActions = st.lists(
    st.tuples(
        st.sampled_from(
            ["append", "append", "append", "roll", "truncate", "delete", "follow"]
        ),
        st.integers(0, 3000),
    ),
    max_size=25,
)


def do(log: UnifiedLog, action: str, number: int) -> None:
    if action == "append":
        produce(log, 1 + number % 3, value=b"v" * number)
    elif action == "roll" and log.local.active.size:
        log.roll(NOW)
    elif action == "truncate":
        log.truncation.truncate_to(
            max(log.log_start_offset, log.log_end_offset - number % 5), NOW
        )
    elif action == "delete":
        log.increment_log_start(min(log.high_watermark, number % 20))
    elif action == "follow":
        copy = new_log(FakeFiles())
        copy.truncation.truncate_fully_and_start_at(log.log_end_offset, NOW)
        produce(copy, 2, value=b"sent")
        log.replica_appender.append_as_follower(copied(copy), NOW)
    log.visibility.raise_to(log.log_end_offset)


def copied(log: UnifiedLog) -> Buffer:
    return log.read(log.log_start_offset, 1 << 20, FetchIsolation.LOG_END).records


def read(log: UnifiedLog, offset: int, size_max: int, min_one: bool) -> object:
    try:
        place, *rest = log.read(
            offset, size_max, FetchIsolation.HIGH_WATERMARK, min_one
        )
    except OffsetOutOfRange as error:
        return str(error)
    return place, bytes(rest[0]), *rest[1:]


@pytest.mark.parametrize("memory_size", [700, 100_000])
@given(LogActions, st.data())
def test_a_log_with_a_tail_answers_as_one_without(
    memory_size: int, actions: list[tuple[str, int]], data: st.DataObject
) -> None:
    files, plain_files = FakeFiles(), FakeFiles()
    files.tails, plain_files.tails = TailMemory(memory_size), TailMemory(0)
    logs = [
        new_log(each, segment_bytes=12_000, index_interval_bytes=200)
        for each in (files, plain_files)
    ]
    for action in actions:
        for log in logs:
            do(log, *action)
        assert files.tails.size <= memory_size
        end = logs[0].log_end_offset
        for _ in range(2):
            offset = max(0, end - data.draw(st.integers(-1, 12)))
            size_max = data.draw(st.sampled_from([0, 50, 61, 200, 3000, 1 << 20]))
            asked = offset, size_max, data.draw(st.booleans())
            kept_answer, plain_answer = (read(log, *asked) for log in logs)
            assert kept_answer == plain_answer


def test_large_batches_are_kept_only_for_readers_at_the_end() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=1 << 20)

    def append(size: int) -> None:
        produce(log, 1, value=b"v" * size)
        log.visibility.raise_to(log.log_end_offset)

    append(5000)
    assert files.tails.size == 0
    append(100)
    assert files.tails.size == files.tails.page_size
    log.read(log.log_end_offset, 1 << 20)
    append(5000)
    assert files.tails.size > 5000
    reads = files.counts["read"]
    log.read(1, 1 << 20)
    assert files.counts["read"] == reads


def test_batches_share_a_page_and_go_with_it() -> None:
    tail, file, memory = kept([100] * 9, memory_size=64 * 4096)
    assert memory.size == memory.page_size == 4096
    assert len(memory.order) == 1
    assert tail.read(0, len(file), 100, True) is not None
    tail.drop_first()
    assert memory.size == 0
    assert tail.read(OFFSETS * 8, len(file), 100, True) is None
    tail.add(b"y" * 100, len(file), OFFSETS * 9, OFFSETS * 10)
    assert memory.size == 4096
    assert tail.read(OFFSETS * 9, len(file) + 100, 100, True) == SegmentRead(
        len(file), b"y" * 100, False
    )
