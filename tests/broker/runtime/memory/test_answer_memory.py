import pytest

from odradek.broker.runtime.memory.answer_memory import SMALL_SIZE, AnswerMemory
from tests.fakes.network import settle

MIB = 1 << 20


class Holder:
    """Takes ``size`` bytes when there is room."""

    def __init__(self, memory: AnswerMemory, size: int = 0) -> None:
        self.woken = 0
        self._memory = memory
        self._size = size

    def room_made(self) -> None:
        self.woken += 1
        self._memory.change(self._size)


def test_a_fetch_may_have_its_most_while_there_is_plenty() -> None:
    memory = AnswerMemory(256 * MIB, 8 * MIB)
    assert memory.share == 8 * MIB
    memory.change(128 * MIB)
    assert memory.share == 8 * MIB
    memory.change(32 * MIB)
    assert memory.share == 4 * MIB


def test_the_less_is_left_the_smaller_are_the_shares() -> None:
    memory = AnswerMemory(256 * MIB, 8 * MIB)
    shares = []
    for _ in range(100):
        shares.append(memory.share)
        memory.change(memory.share)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == SMALL_SIZE
    assert memory.used < 256 * MIB, "a hundred that read nothing leave room to others"
    assert not memory.is_full


def test_what_is_short_is_given_in_small_pieces() -> None:
    memory = AnswerMemory(256 * MIB, 8 * MIB)
    memory.change(192 * MIB)
    assert not memory.is_short
    memory.change(1)
    assert (memory.is_short, memory.is_full, memory.share) == (True, False, SMALL_SIZE)
    memory.change(64 * MIB)
    assert memory.is_full
    memory.change(-128 * MIB)
    assert (memory.is_short, memory.is_full) == (False, False)


def test_a_small_limit_is_shared_too() -> None:
    memory = AnswerMemory(1600, 8 * MIB)
    assert memory.share == 150
    memory.change(1300)
    assert memory.share == 100


def test_who_leaves_nothing_unread_is_served_whatever_the_limit() -> None:
    memory = AnswerMemory(0, 8 * MIB)
    assert (memory.share, memory.is_full) == (0, False)
    memory.change(1)
    assert memory.is_full


def test_minus_one_is_no_limit() -> None:
    memory = AnswerMemory(-1, 8 * MIB)
    memory.change(1 << 50)
    assert (memory.share, memory.is_short, memory.is_full) == (8 * MIB, False, False)


async def test_who_waits_goes_on_in_order_as_long_as_there_is_room() -> None:
    memory = AnswerMemory(1000, 1000)
    memory.change(1000)
    holders = [Holder(memory, 60) for _ in range(4)]
    for holder in holders:
        memory.wait(holder)
    await settle()
    assert [each.woken for each in holders] == [0, 0, 0, 0]
    memory.change(-100)
    assert memory.waiting_count == 4, "not in the middle of what made room"
    await settle()
    assert [each.woken for each in holders] == [1, 1, 0, 0]
    assert (memory.used, memory.waiting_count) == (1020, 2)
    memory.change(-30)
    await settle()
    assert [each.woken for each in holders] == [1, 1, 1, 0]


async def test_very_many_are_woken_in_several_turns() -> None:
    memory = AnswerMemory(1000, 1000)
    memory.change(1000)
    holders = [Holder(memory) for _ in range(120)]
    for holder in holders:
        memory.wait(holder)
    memory.change(-1)
    await settle(1)
    assert sum(each.woken for each in holders) == 50
    await settle()
    assert {each.woken for each in holders} == {1}


async def test_who_has_left_is_not_called() -> None:
    memory = AnswerMemory(1000, 1000)
    memory.change(1000)
    first, second = Holder(memory), Holder(memory)
    memory.wait(first)
    memory.wait(second)
    memory.leave(first)
    memory.leave(first)
    memory.change(-10)
    await settle()
    assert (first.woken, second.woken) == (0, 1)


def test_what_several_have_to_send_counts_once() -> None:
    memory = AnswerMemory(MIB, MIB)
    shared, other, small = bytes(50_000), bytes(50_000), bytes(100)
    buffers = ([small, shared], [small, shared, other], [shared])
    sizes = [sum(map(len, each)) for each in buffers]
    for each, size in zip(buffers, sizes, strict=True):
        memory.change(size)
        memory.hold(each)
    assert memory.used == len(shared) + len(other) + 2 * len(small)
    memory.let_go(buffers[0])
    memory.change(-sizes[0])
    assert memory.used == len(shared) + len(other) + len(small)
    memory.let_go(buffers[1])
    memory.change(-sizes[1])
    assert memory.used == len(shared)
    memory.let_go(buffers[2])
    memory.change(-sizes[2])
    assert memory.used == 0
    memory.change(10)
    memory.let_go([])
    assert memory.used == 10


def test_more_than_is_held_cannot_go() -> None:
    memory = AnswerMemory(1000, 1000)
    with pytest.raises(AssertionError):
        memory.change(-1)
