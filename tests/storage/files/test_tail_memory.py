"""What all tails keep is bounded, and the oldest batch goes first."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.files.tail_memory import TailMemory
from odradek.storage.segment.tail import LogTail


def test_tails_that_share_a_memory_give_way_to_each_other() -> None:
    memory = TailMemory(10_000)
    idle, busy = LogTail(memory), LogTail(memory)
    idle.add(b"x" * 100, 0, 0, 1)
    for place in range(60):
        busy.add(b"y" * 100, 100 * place, place, place + 1)
        has_given_way = idle.read(0, 100, 100, True) is None
        assert has_given_way == (place >= 27)  # 28 batches of 100 + 256 bytes
    assert busy.read(59, 6000, 100, True) is not None
    assert busy.read(59 - 28, 6000, 100, True) is None


def test_what_is_cleared_again_and_again_leaves_nothing_behind() -> None:
    memory = TailMemory(10_000)
    tail = LogTail(memory)
    for place in range(1000):
        tail.add(b"x", 2 * place, place, place + 1)  # never behind the one before
    assert memory.size < 300
    assert len(memory.order) < 50


def test_logs_that_are_gone_are_not_remembered_by_their_tails() -> None:
    memory = TailMemory(1 << 20)
    idle = LogTail(memory)
    idle.add(b"x" * 100, 0, 0, 1)
    for _ in range(1000):
        short = LogTail(memory)
        short.add(b"y" * 5000, 0, 0, 1)
        short.clear()
    assert (memory.page_count, len(memory.order) < 100) == (1, True)
    assert idle.read(0, 100, 100, True) is not None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6000)), max_size=400))
def test_every_page_can_be_taken_back(steps: list[tuple[int, int]]) -> None:
    """Whatever was cleared in between: what counts is what the tails have."""
    memory = TailMemory(40_000)
    tails = [LogTail(memory) for _ in range(5)]
    ends = [(0, 0)] * len(tails)
    for number, size in steps:
        if number == len(tails):
            tails[size % len(tails)].clear()
            continue
        offset, position = ends[number]
        tails[number].add(b"z" * size, position, offset, offset + 1)
        ends[number] = offset + 1, position + size
        assert memory.page_count == sum(tail.page_count for tail in tails)
        for tail in tails:
            assert memory.order.count(tail) >= tail.page_count
    memory.resize(0)
    assert (memory.size, memory.page_count) == (0, 0)


def test_less_memory_takes_the_oldest_at_once() -> None:
    memory = TailMemory(10_000)
    tail = LogTail(memory)
    for place in range(10):
        tail.add(b"x" * 100, 100 * place, place, place + 1)
    memory.resize(1000)
    assert 0 < memory.size <= 1000
    assert tail.read(7, 1000, 100, True) is None
    assert tail.read(9, 1000, 100, True) is not None
