import random
from typing import Any

import pytest

from odradek.broker.coordinator.share.state import StateBatch
from odradek.broker.share.acknowledge import Acknowledged
from odradek.broker.share.acquire import Acquired, Limits, Taking
from odradek.broker.share.record_states import ENDS, AcknowledgeType, RecordState
from odradek.broker.share.share_partition import SharePartition, Update
from odradek.protocol.errors import InvalidRecordState, InvalidRequest

ACCEPT, RELEASE, REJECT, RENEW = (
    [AcknowledgeType.ACCEPT],
    [AcknowledgeType.RELEASE],
    [AcknowledgeType.REJECT],
    [AcknowledgeType.RENEW],
)
BATCHES = [(0, 9), (10, 19), (20, 29)]


class Rig:
    def __init__(self, start: int = 0, **limits: int) -> None:
        self.now_ms = 0
        self.partition = SharePartition(start, Limits(**limits))

    def acquire(
        self, member_id: str = "a", records_max: int = 10, **fields: Any
    ) -> list[Acquired]:
        batches = fields.pop("batches", BATCHES)
        offset = fields.pop("offset", self.partition.next_fetch_offset)
        taking = Taking(member_id, records_max, self.now_ms, **fields)
        return self.partition.acquire(taking, batches, offset)

    def say(self, first: int, last: int, types: Any, member_id: str = "a") -> Update:
        said = [Acknowledged(first, last, types)]
        update = self.partition.acknowledge(member_id, said, self.now_ms)
        assert update is not None
        return update

    def end(self, first: int, last: int, types: Any, member_id: str = "a") -> None:
        self.partition.confirm(self.say(first, last, types, member_id))

    @property
    def states(self) -> list[tuple[int, int, int, int]]:
        ranges = self.partition.ranges()
        return [(each.first, each.last, each.state, each.count) for each in ranges]


def test_whole_batches_go_beyond_the_limit() -> None:
    rig = Rig()
    assert rig.acquire(records_max=5) == [(0, 9, 1)]
    assert rig.acquire("b", records_max=11) == [(10, 29, 1)]
    assert rig.acquire("c") == []
    assert rig.partition.next_fetch_offset == 30


def test_exactly_so_many() -> None:
    rig = Rig()
    assert rig.acquire(records_max=3, is_exact=True) == [(0, 2, 1)]
    assert rig.acquire("b", records_max=9, is_exact=True) == [(3, 11, 1)]


def test_what_is_accepted_moves_the_start_when_it_is_durable() -> None:
    rig = Rig()
    rig.acquire()
    update = rig.say(0, 4, ACCEPT)
    batches = (StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1),)
    assert update == Update(update.number, 5, batches, 0)
    assert rig.partition.start == 0
    rig.partition.confirm(update)
    assert rig.partition.start == 5
    update = rig.say(8, 9, ACCEPT)
    assert (update.start, update.complete_count) == (5, 2)
    rig.partition.confirm(update)
    assert rig.partition.start == 5, "5 to 7 are not finished"
    rig.end(5, 7, REJECT)
    assert (rig.partition.start, rig.states) == (10, [])


def test_what_is_released_comes_again() -> None:
    rig = Rig()
    rig.acquire()
    rig.end(2, 4, RELEASE)
    assert rig.partition.next_fetch_offset == 2
    assert rig.acquire("b") == [(2, 4, 2), (10, 19, 1)]


def test_until_it_was_tried_often_enough() -> None:
    rig = Rig(count_max=2)
    one = [(0, 0)]
    for count in (1, 2):
        assert rig.acquire(batches=one) == [(0, 0, count)]
        rig.end(0, 0, RELEASE)
    assert rig.acquire(batches=one) == []
    assert rig.partition.start == 1


def test_a_type_for_each() -> None:
    rig = Rig()
    rig.acquire()
    kinds = [1, 1, 2, 3, 0]
    rig.end(0, 4, kinds)
    assert rig.partition.start == 2
    assert rig.states == [(2, 2, 0, 1), (3, 4, 4, 1), (5, 9, 1, 1)]


def test_what_nobody_was_given_cannot_be_acknowledged() -> None:
    rig = Rig()
    rig.acquire()
    for said in ([Acknowledged(0, 10, ACCEPT)], [Acknowledged(20, 21, ACCEPT)]):
        with pytest.raises(InvalidRequest, match="were not handed out"):
            rig.partition.acknowledge("a", said, 0)
    assert rig.states == [(0, 9, 1, 1)]


def test_who_does_not_have_it_cannot_say_what_becomes_of_it() -> None:
    rig = Rig()
    rig.acquire()
    with pytest.raises(InvalidRecordState):
        rig.say(0, 4, ACCEPT, "b")
    rig.end(3, 4, RELEASE)
    with pytest.raises(InvalidRecordState):
        rig.say(0, 4, ACCEPT)
    pending = rig.say(0, 1, ACCEPT)
    with pytest.raises(InvalidRecordState):
        rig.say(1, 2, ACCEPT)
    rig.partition.confirm(pending)
    assert rig.partition.start == 2


def test_below_the_start_anything_may_be_said() -> None:
    rig = Rig()
    rig.acquire()
    rig.end(0, 4, ACCEPT)
    rig.end(2, 5, ACCEPT)
    assert rig.partition.acknowledge("a", [Acknowledged(0, 3, ACCEPT)], 0) is None
    assert rig.partition.start == 6


def test_a_lock_ends_and_may_be_renewed() -> None:
    rig = Rig(lock_ms=100)
    rig.acquire()
    rig.now_ms = 60
    rig.partition.acknowledge("a", [Acknowledged(5, 9, RENEW)], 60)
    assert rig.partition.next_expiry_ms() == 100
    assert rig.partition.expire(99) is None
    update = rig.partition.expire(100)
    assert update is not None
    assert update.batches == (StateBatch(0, 4, RecordState.AVAILABLE, 1),)
    rig.partition.confirm(update)
    assert rig.acquire("b") == [(0, 4, 2), (10, 19, 1)]
    assert rig.partition.next_expiry_ms() == 160


def test_who_is_gone_has_nothing() -> None:
    rig = Rig()
    rig.acquire()
    rig.acquire("b")
    update = rig.partition.release("a")
    assert update is not None
    rig.partition.confirm(update)
    assert rig.states == [(0, 9, 0, 1), (10, 19, 1, 1)]
    assert rig.partition.release("a") is None


def test_what_could_not_be_written_is_as_before() -> None:
    rig = Rig(lock_ms=100)
    rig.acquire()
    rig.partition.give_up(rig.say(0, 4, ACCEPT), 99)
    assert rig.states == [(0, 9, 1, 1)]
    rig.partition.give_up(rig.say(0, 4, ACCEPT), 100)
    assert rig.states == [(0, 4, 0, 1), (5, 9, 1, 1)]


def test_no_more_than_so_many_are_out() -> None:
    rig = Rig(locks_max=15)
    assert rig.acquire(records_max=100) == [(0, 19, 1)]
    assert not rig.partition.can_give(rig.partition.next_fetch_offset)
    rig.end(3, 3, RELEASE)
    assert rig.partition.can_give(3), "inside of it there is something"
    assert rig.acquire("b", records_max=100) == [(3, 3, 2)]
    rig.end(0, 2, ACCEPT)
    rig.end(3, 3, ACCEPT, "b")
    rig.end(4, 5, ACCEPT)
    assert rig.acquire("b", records_max=100) == [(20, 29, 1)]


def test_a_record_that_fails_again_and_again_is_found() -> None:
    rig = Rig(count_max=5)
    batch = [(0, 9)]
    for expected in ([(0, 9, 1)], [(0, 9, 2)], [(0, 9, 3)]):
        assert rig.acquire(batches=batch) == expected
        rig.end(0, 9, RELEASE)
    assert rig.acquire(batches=batch) == [(0, 4, 4)], "a half"
    rig.end(0, 4, RELEASE)
    assert rig.acquire(batches=batch) == [(0, 0, 5)], "the last try is alone"


def test_holes_of_what_was_loaded_are_filled() -> None:
    rig = Rig(start=5)
    rig.partition.load([StateBatch(7, 8, 2, 1), StateBatch(10, 11, 0, 1)])
    assert (rig.partition.next_fetch_offset, rig.partition.end) == (5, 11)
    assert rig.acquire() == [(5, 6, 1), (9, 9, 1), (10, 11, 2), (12, 19, 1)]
    rig = Rig(start=5)
    rig.partition.load([StateBatch(5, 8, 2, 1)])
    assert rig.partition.start == 9


def test_what_compaction_took_is_finished() -> None:
    rig = Rig()
    batches = [(3, 4), (8, 9)]
    assert rig.acquire(batches=batches) == [(3, 4, 1), (8, 9, 1)]
    assert (rig.partition.start, rig.partition.next_fetch_offset) == (3, 10)
    update = rig.say(3, 4, ACCEPT)
    assert (update.start, update.complete_count) == (8, 0)
    rig.partition.confirm(update)
    assert rig.partition.start == 8


def test_what_was_given_back_and_is_gone_is_finished() -> None:
    rig = Rig()
    rig.acquire()
    rig.acquire("b")
    rig.end(0, 9, RELEASE)
    assert rig.acquire("c", batches=[(15, 19), (20, 24)], offset=0) == [(20, 24, 1)]
    assert rig.partition.start == 10
    assert rig.partition.held_count == 15, "who has something keeps it"


def test_how_much_members_have() -> None:
    rig = Rig()
    rig.acquire()
    rig.acquire("b")
    assert rig.partition.held_count == 20
    update = rig.say(0, 4, ACCEPT)
    assert rig.partition.held_count == 15
    rig.partition.give_up(update, 0)
    assert rig.partition.held_count == 20


def test_the_log_begins_later() -> None:
    rig = Rig()
    rig.acquire()
    rig.end(0, 9, RELEASE)
    rig.partition.move_start(4)
    assert (rig.partition.start, rig.states) == (4, [(4, 9, 0, 1)])
    rig.partition.move_start(30)
    assert (rig.partition.start, rig.states) == (30, [])
    rig.partition.move_start(2)
    assert rig.partition.start == 30


class World:
    """Members that take, say and lose whatever comes, beside plain lists."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        count_max = self.random.choice((2, 3, 5))
        self.rig = Rig(lock_ms=50, locks_max=60, count_max=count_max)
        self.partition = self.rig.partition
        batches = [(at, at + 4) for at in range(0, 500, 5)]
        lost = self.random.sample(batches[:-1], self.random.choice((0, 0, 20)))
        self.log = [each for each in batches if each not in lost]
        self.owners: dict[int, str] = {}
        self.counts: dict[int, int] = {}
        self.ended = {at for first, last in lost for at in range(first, last + 1)}
        self.lost_count = len(self.ended)

    def step(self) -> None:
        self.rig.now_ms += self.random.randint(0, 5)
        before = self.partition.start
        member = self.random.choice("abc")
        happening = self.random.choice(
            (self._take, self._take, self._say, self._expire, self._leave)
        )
        update = happening(member)
        if update is not None:
            self._settle(update)
        assert self.partition.start >= before
        self.check()

    def _take(self, member: str) -> None:
        begin = self.partition.next_fetch_offset
        batches = [each for each in self.log if each[1] >= begin][:4]
        is_exact = self.random.random() < 0.5
        records_max = self.random.randint(1, 9)
        taken = self.rig.acquire(
            member, records_max, batches=batches, is_exact=is_exact
        )
        for first, last, count in taken:
            for offset in range(first, last + 1):
                assert offset not in self.owners
                assert offset not in self.ended
                self.counts[offset] = self.counts.get(offset, 0) + 1
                assert self.counts[offset] == count
                self.owners[offset] = member

    def _say(self, member: str) -> Update | None:
        mine = sorted(at for at, of in self.owners.items() if of == member)
        if not mine:
            return None
        first = last = self.random.choice(mine)
        while self.owners.get(last + 1) == member:
            last += 1
        return self.rig.say(first, last, [self.random.choice((0, 1, 2, 3))], member)

    def _expire(self, _: str) -> Update | None:
        return self.partition.expire(self.rig.now_ms)

    def _leave(self, member: str) -> Update | None:
        return self.partition.release(member) if self.random.random() < 0.2 else None

    def _settle(self, update: Update) -> None:
        if self.random.random() < 0.2:
            self.partition.give_up(update, -1)
            return
        for first, last, state, _ in update.batches:
            for offset in range(first, last + 1):
                del self.owners[offset]
                if state in ENDS:
                    self.ended.add(offset)
        self.partition.confirm(update)
        assert self.partition.start == update.start

    def check(self) -> None:
        free = self.partition.start
        for each in self.partition.ranges():
            if each.first > free or each.is_free:
                break
            free = each.last + 1
        assert self.partition.next_fetch_offset == free
        assert self.ended.issuperset(range(self.partition.start))
        held = {
            offset
            for each in self.partition.ranges()
            if each.state is RecordState.ACQUIRED
            for offset in range(each.first, each.last + 1)
        }
        assert held == {at for at in self.owners if at >= self.partition.start}


@pytest.mark.parametrize("seed", range(40))
def test_g021_each_offset_has_one_state_as_in_a_plain_list(seed: int) -> None:
    world = World(seed)
    for _ in range(400):
        world.step()
    assert len(world.ended) > world.lost_count + 20
