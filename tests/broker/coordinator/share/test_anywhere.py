"""Share coordinators that are elsewhere, move, and do not answer."""

from typing import Any, cast

from odradek.broker.coordinator.share.anywhere import (
    PATIENCE_MS,
    ShareStatesAnywhere,
)
from odradek.broker.coordinator.share.questions import (
    DeleteState,
    InitialiseState,
    ReadState,
    SummariseState,
    WriteState,
)
from odradek.broker.coordinator.share.state import (
    StateBatch,
    StateSummary,
    StateUpdate,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    ErrorCode,
    FencedLeaderEpoch,
    NetworkException,
    NotCoordinator,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock
from tests.fakes.other_brokers import OTHER, US, FakeOtherBrokers

from .rig import KEY
from .rig import OTHER as SECOND

PLACES = {
    key: TopicPartition("__share_group_state", key.partition) for key in (KEY, SECOND)
}


def update(start: int, *batches: tuple[int, int], epoch: int = 1) -> StateUpdate:
    """By a leader of that epoch: these offsets are accepted."""
    accepted = tuple(StateBatch(*each, 2, 1) for each in batches)
    return StateUpdate(1, epoch, start, accepted, 0)


class World:
    """Two share partitions: the first is kept here, the second by another broker."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.others = FakeOtherBrokers()
        self.others.leaders[PLACES[SECOND]] = OTHER
        self.asked: list[Any] = []
        self.answer: Any = None
        self.watchers: list[Any] = []
        self.has_topic = True
        self.states = ShareStatesAnywhere(cast("Any", self), self.others, self.clock)

    # The coordinator here

    def partition_of(self, key: Any) -> TopicPartition:
        if not self.has_topic:
            raise NotCoordinator
        return PLACES[key]

    def read(self, key: Any, leader_epoch: int) -> Any:
        self.asked.append(("read", key, leader_epoch))
        return self.answer

    def write(self, key: Any, update: StateUpdate) -> Any:
        self.asked.append(("write", key, update))
        return self.answer

    def initialise(self, starts: Any, state_epoch: int, finish: Any) -> Any:
        self.asked.append(("initialise", starts, state_epoch))
        return finish(dict.fromkeys(starts, self.answer))

    def summarise(self, keys: Any, finish: Any) -> Any:
        self.asked.append(("summarise", keys))
        return finish(dict.fromkeys(keys, self.answer))

    def delete(self, keys: Any, finish: Any) -> Any:
        self.asked.append(("delete", keys))
        return finish(dict.fromkeys(keys, self.answer))

    # The other one

    def answer_there(self, answer: Any) -> None:
        self.others.answers[-1].set_result(answer)


def test_each_is_asked_where_it_is_kept() -> None:
    world = World()
    world.answer = "state"
    assert world.states.read(KEY, 7).result() == "state"
    assert world.asked == [("read", KEY, 7)]
    there = world.states.read(SECOND, 8)
    assert world.others.asked == [(OTHER, ReadState(SECOND, 8))]
    assert not there.done()
    world.answer_there("another")
    assert there.result() == "another"
    assert world.states.watchers is world.watchers


def test_of_several_each_is_asked_for_its_own() -> None:
    world = World()
    found: list[Any] = []
    world.states.initialise({KEY: 5, SECOND: 6}, 3, found.append)
    assert world.asked == [("initialise", {KEY: 5}, 3)]
    assert world.others.asked == [(OTHER, InitialiseState(SECOND, 3, 6))]
    world.answer_there(None)
    world.states.summarise([KEY, SECOND], found.append)
    assert world.others.asked[-1] == (OTHER, SummariseState(SECOND))
    world.answer_there("summary")
    world.states.delete([KEY, SECOND], found.append)
    assert world.others.asked[-1] == (OTHER, DeleteState(SECOND))
    world.answer_there(None)
    nothing = {KEY: None, SECOND: None}
    assert found == [nothing, {KEY: None, SECOND: "summary"}, nothing]


def test_who_has_moved_is_asked_where_it_is_now() -> None:
    world = World()
    written = world.states.write(SECOND, update(5))
    world.answer_there(NotCoordinator())
    world.others.leaders[PLACES[SECOND]] = None
    world.clock.advance(20)
    assert (len(world.others.asked), world.asked) == (1, [])
    world.others.leaders[PLACES[SECOND]] = US
    world.answer = CoordinatorLoadInProgress()
    world.clock.advance(40)
    assert world.asked == [("write", SECOND, update(5))]
    assert not written.done()
    world.answer = None
    world.clock.advance(80)
    assert written.done()
    assert written.result() is None


def test_what_is_refused_is_not_asked_again() -> None:
    world = World()
    written = world.states.write(SECOND, update(5))
    error = FencedLeaderEpoch()
    world.answer_there(error)
    assert written.result() is error
    assert world.clock.timer_count == 0


def test_nobody_waits_for_ever() -> None:
    world = World()
    world.others.leaders[PLACES[SECOND]] = None
    found = world.states.read(SECOND, 1)
    world.clock.advance(PATIENCE_MS - 2_000)
    assert not found.done()
    world.clock.advance(2_000)
    assert found.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.clock.timer_count == 0


def test_a_bug_is_told() -> None:
    world = World()
    world.answer = parked = Parked[Any]()
    found = world.states.read(KEY, 1)
    parked.set_exception(error := ZeroDivisionError())
    assert found.error is error


def test_without_a_topic_nothing_is_kept() -> None:
    world = World()
    world.has_topic = False
    found: list[Any] = []
    world.states.summarise([KEY], found.append)
    world.states.delete([KEY], found.append)
    world.states.initialise({KEY: 5}, 3, found.append)
    assert found == [{KEY: StateSummary()}, {KEY: None}, {KEY: None}]
    assert world.asked == [("initialise", {KEY: 5}, 3)], "it makes the topic"
    read = world.states.read(KEY, 1)
    assert not read.done()
    world.has_topic, world.answer = True, "state"
    world.clock.advance(20)
    assert read.result() == "state"


def test_what_is_written_meanwhile_goes_together_and_later() -> None:
    """Else a start that is asked for again would undo a later one."""
    world = World()
    answers = [
        world.states.write(SECOND, update(1, (5, 9))),
        world.states.write(SECOND, update(2, (3, 4))),
        world.states.write(SECOND, update(4, (1, 2))),
        world.states.write(SECOND, update(6, (7, 7), epoch=2)),
    ]
    assert world.others.asked == [(OTHER, WriteState(SECOND, update(1, (5, 9))))]
    world.answer_there(NetworkException())
    world.clock.advance(20)
    world.answer_there(None)
    assert [each.done() for each in answers] == [True, False, False, False]
    answers.append(world.states.write(SECOND, update(7, (8, 8), epoch=2)))
    world.clock.advance(1)
    both = WriteState(SECOND, update(4, (1, 2), (3, 4)))
    assert world.others.asked[-1] == (OTHER, both)
    world.answer_there(None)
    assert [each.done() for each in answers] == [True, True, True, False, False]
    world.clock.advance(1)
    last = WriteState(SECOND, update(7, (7, 7), (8, 8), epoch=2))
    assert world.others.asked[-1] == (OTHER, last)
    error = FencedLeaderEpoch()
    world.answer_there(error)
    assert [each.result() for each in answers] == [None, None, None, error, error]
    world.states.write(SECOND, update(8))
    assert world.others.asked[-1] == (OTHER, WriteState(SECOND, update(8)))


def test_the_other_share_partition_does_not_wait() -> None:
    world = World()
    world.states.write(SECOND, update(1))
    assert world.states.write(KEY, update(2)).result() is None
    assert world.asked == [("write", KEY, update(2))]


def test_what_is_read_comes_behind_what_was_written_before() -> None:
    """Else what was accepted would be free, and be given to somebody once more."""
    world = World()
    first = world.states.write(SECOND, update(1, (0, 9)))
    second = world.states.write(SECOND, update(1, (10, 19)))
    read = world.states.read(SECOND, 1)
    third = world.states.write(SECOND, update(1, (20, 29)))
    kinds = [type(question) for _, question in world.others.asked]
    assert kinds == [WriteState]
    world.answer_there(None)
    world.clock.advance(1)
    kinds = [type(question) for _, question in world.others.asked]
    assert kinds == [WriteState, WriteState], "a read ends what goes together"
    world.answer_there(None)
    assert (first.done(), second.done(), read.done()) == (True, True, False)
    world.clock.advance(1)
    assert world.others.asked[2:] == [
        (OTHER, ReadState(SECOND, 1)),
        (OTHER, WriteState(SECOND, update(1, (20, 29)))),
    ]
    world.others.answers[2].set_result("state")
    world.answer_there(None)
    assert (read.result(), third.result()) == ("state", None)
    assert world.states.read(SECOND, 1).done() is False
    assert len(world.others.asked) == 5, "nothing is being written any more"


def test_a_read_behind_the_last_write_is_asked() -> None:
    world = World()
    world.states.write(SECOND, update(1))
    read = world.states.read(SECOND, 1)
    world.answer_there(None)
    world.clock.advance(1)
    assert world.others.asked[-1] == (OTHER, ReadState(SECOND, 1))
    world.answer_there("state")
    assert read.result() == "state"
    assert world.clock.timer_count == 0


def test_who_does_not_answer_keeps_nobody_waiting() -> None:
    """It hangs: who asked is told in time, and what is on its way stays alone."""
    world = World()
    found: list[Any] = []
    answers = [world.states.write(SECOND, update(1, (0, 9)))]
    world.clock.advance(1_000)
    answers += [
        world.states.write(SECOND, update(1, (10, 19))),
        world.states.read(SECOND, 1),
    ]
    world.states.summarise([SECOND], found.append)
    world.clock.advance(PATIENCE_MS - 1_000)
    assert [each.done() for each in answers] == [True, False, False]
    world.clock.advance(1_000)
    codes = [each.result().code for each in answers]
    assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
    (of_summary,) = found[0].values()
    assert of_summary.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    late = world.states.write(SECOND, update(2, (0, 9)))
    assert len(world.others.asked) == 2
    world.others.answers[0].set_result(NetworkException())
    world.clock.advance(1)
    # What nobody waits for any more is not written.
    assert world.others.asked[2:] == [(OTHER, WriteState(SECOND, update(2, (0, 9))))]
    world.others.answers[1].set_result(NetworkException())
    world.answer_there(None)
    assert late.result() is None
    assert world.clock.timer_count == 0
