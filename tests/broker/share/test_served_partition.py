from typing import Any

import pytest

from odradek.broker.coordinator.share.state import ShareKey, StoredState
from odradek.broker.runtime.parked import Parked
from odradek.broker.share.acknowledge import Acknowledged
from odradek.broker.share.acquire import Limits, Taking
from odradek.broker.share.served_partition import ServedPartition
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    FencedLeaderEpoch,
    InvalidRecordState,
    KafkaError,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

from .rig import ACCEPT, RENEW, FakeStates

KEY = ShareKey("g", bytes(16), 0)


class Host:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.states: Any = FakeStates()
        self.woken = self.dropped = self.expired_count = 0

    def note_expired(self, count: int) -> None:
        self.expired_count += count

    def limits_of(self, group_id: str) -> Limits:
        return Limits(lock_ms=100)

    def wake_soon(self, served: ServedPartition) -> None:
        self.woken += 1

    def drop(self, served: ServedPartition) -> None:
        self.dropped += 1
        served.close()


class Rig:
    def __init__(self) -> None:
        self.host = Host()
        self.host.states.begin(KEY, 0)
        self.served = ServedPartition(KEY, TopicPartition("t", 0), self.host)
        self.served.use(StoredState(1, 0, 0, 0, ()), 0)

    def acquire(self, member_id: str = "a") -> Any:
        taking = Taking(member_id, 100, self.host.clock.monotonic_ms())
        offset = self.served.state.next_fetch_offset
        return self.served.acquire(taking, [(0, 9), (10, 19)], offset)

    def say(self, first: int, last: int, types: Any, member_id: str = "a") -> Any:
        said = [Acknowledged(first, last, types)]
        return self.served.acknowledge(member_id, said)

    @property
    def states(self) -> list[tuple[int, int, int, int]]:
        ranges = self.served.state.ranges()
        return [(each.first, each.last, each.state, each.count) for each in ranges]


def test_what_is_not_loaded_gives_nothing() -> None:
    host = Host()
    served = ServedPartition(KEY, TopicPartition("t", 0), host)
    assert (served.is_loaded, served.is_over, served.fetch_offset()) == (
        False,
        False,
        None,
    )
    said = [Acknowledged(0, 0, ACCEPT)]
    assert isinstance(served.acknowledge("a", said), InvalidRecordState)
    served.release("a")
    served.fail(KafkaError("why"))
    assert served.is_over
    assert (host.woken, host.dropped) == (1, 1)


def test_what_others_read_is_not_read_twice() -> None:
    rig = Rig()
    assert rig.served.fetch_offset() == 0
    rig.served.is_being_read = True
    assert rig.served.fetch_offset() is None


def test_what_is_said_counts_when_it_is_durable() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.states.holds = True
    answer = rig.say(0, 4, ACCEPT)
    assert isinstance(answer, Parked)
    assert rig.served.state.start == 0
    rig.host.states.let_go()
    assert (answer.result(), rig.served.state.start) == (None, 5)
    (update,) = rig.host.states.written
    assert (update.state_epoch, update.leader_epoch, update.start) == (1, 0, 5)


def test_what_cannot_be_written_has_not_happened() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.states.error = CoordinatorNotAvailable()
    assert isinstance(rig.say(0, 4, ACCEPT), CoordinatorNotAvailable)
    assert rig.states == [(0, 19, 1, 1)]
    assert rig.host.dropped == 0
    rig.host.states.error = None
    assert rig.say(0, 4, ACCEPT) is None


def test_what_is_outdated_is_dropped() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.states.holds = True
    answer = rig.say(0, 4, ACCEPT)
    rig.host.states.let_go(FencedLeaderEpoch())
    assert answer.result().code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert rig.host.dropped == 1
    assert rig.host.clock.timer_count == 0
    assert rig.acquire("b") == []
    assert isinstance(rig.say(5, 6, ACCEPT), InvalidRecordState)


def test_a_bug_where_it_is_written_is_an_answer() -> None:
    rig = Rig()
    rig.acquire()
    parked: Parked[Any] = Parked()
    rig.host.states.write = lambda *_: parked
    answer = rig.say(0, 4, ACCEPT)
    parked.set_exception(RuntimeError("oh"))
    assert answer.result().code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert rig.states == [(0, 19, 1, 1)]


def test_locks_end_by_one_timer() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.clock.advance(60)
    rig.say(5, 9, RENEW)
    assert rig.host.clock.timer_count == 1
    rig.host.clock.advance(40)
    assert rig.states == [(0, 4, 0, 1), (5, 9, 1, 1), (10, 19, 0, 1)]
    assert rig.host.expired_count == 15
    rig.host.clock.advance(60)
    assert rig.states == [(0, 19, 0, 1)]
    assert rig.host.clock.timer_count == 0


def test_a_lock_that_is_over_is_over_though_nothing_can_be_written() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.states.error = CoordinatorNotAvailable()
    rig.host.clock.advance(100)
    assert rig.states == [(0, 19, 0, 1)]


def test_what_waits_for_the_disk_keeps_its_lock_until_it_is_known() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.states.holds = True
    rig.say(0, 19, ACCEPT)
    rig.host.clock.advance(150)
    assert rig.states == [(0, 19, 1, 1)]
    rig.host.states.let_go(CoordinatorNotAvailable())
    assert rig.states == [(0, 19, 0, 1)], "its lock is over"


def test_what_was_not_written_is_locked_for_the_rest_of_the_time() -> None:
    rig = Rig()
    rig.acquire()
    rig.host.states.holds = True
    rig.say(0, 19, ACCEPT)
    rig.host.clock.advance(50)
    rig.host.states.let_go(CoordinatorNotAvailable())
    rig.host.states.holds = False
    assert rig.states == [(0, 19, 1, 1)]
    rig.host.clock.advance(50)
    assert rig.states == [(0, 19, 0, 1)]


def test_after_its_end_no_lock_ends() -> None:
    rig = Rig()
    rig.acquire()
    rig.served.close()
    assert rig.host.clock.timer_count == 0
    rig.host.clock.advance(1_000)
    assert rig.host.states.written == []


def test_it_is_loaded_before_it_is_asked() -> None:
    served = ServedPartition(KEY, TopicPartition("t", 0), Host())
    with pytest.raises(AssertionError, match="is not loaded"):
        _ = served.state
