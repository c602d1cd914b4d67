"""What all tails keep is bounded, and the oldest batch goes first."""

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


def test_less_memory_takes_the_oldest_at_once() -> None:
    memory = TailMemory(10_000)
    tail = LogTail(memory)
    for place in range(10):
        tail.add(b"x" * 100, 100 * place, place, place + 1)
    memory.resize(1000)
    assert 0 < memory.size <= 1000
    assert tail.read(7, 1000, 100, True) is None
    assert tail.read(9, 1000, 100, True) is not None
