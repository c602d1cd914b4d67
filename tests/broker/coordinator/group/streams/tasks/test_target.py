from odradek.broker.coordinator.group.state.streams.group import StreamsState
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups, counting


def delayed(ms: int = 3_000, **counts: int) -> StreamsGroups:
    groups = StreamsGroups(**counts)
    groups.options[GROUP]["streams.initial.rebalance.delay.ms"] = str(ms)
    return groups


def test_g041_with_the_intervals_that_brokers_have() -> None:
    """In epoch 0 Java's client would take its joining for failed."""
    groups = StreamsGroups(t=2)
    groups.options[GROUP] = {}
    answer = groups.join("a")
    assert groups.statuses(answer) == {
        5: "Assignment delayed due to the configured initial rebalance delay."
    }
    assert groups.response(answer).member_epoch == 1
    assert groups.told(answer) == {}
    assert groups.response(groups.join("b")).member_epoch == 1
    assert groups.streams_group.state is StreamsState.ASSIGNING
    groups.clock.advance(3_000)
    assert groups.streams_group.assignment_epoch == groups.streams_group.epoch == 3
    answer = groups.beat_as("a")
    assert (groups.told(answer), groups.statuses(answer)) == ({"0": [0]}, {})
    assert groups.told(groups.beat_as("b")) == {"0": [1]}
    assert groups.response(groups.beat_as("b")).member_epoch == 3


def test_what_was_made_during_the_delay_is_there_behind_it() -> None:
    groups = delayed(t=2)
    assert list(groups.statuses(groups.join("a", topology=counting()))) == [5, 3]
    groups.topics.put("again", 2)
    groups.topics.put("store", 2)
    groups.clock.advance(3_000)
    assert groups.told(groups.beat_as("a")) == {"0": [0, 1], "1": [0, 1]}


def test_a_delay_behind_which_nobody_is_left_assigns_nothing() -> None:
    groups = delayed(t=2)
    groups.join("a")
    groups.beat_as("a", -1)
    written = len(groups.fake.log)
    groups.clock.advance(3_000)
    assert len(groups.fake.log) == written


def test_an_empty_group_waits_again() -> None:
    groups = delayed(t=2)
    groups.join("a")
    groups.clock.advance(3_000)
    groups.beat_as("a")
    groups.beat_as("a", -1)
    answer = groups.join("b")
    assert list(groups.statuses(answer)) == [5]
    assert groups.response(answer).member_epoch == 2, "that of the last target"
    groups.clock.advance(3_000)
    assert groups.told(groups.beat_as("b")) == {"0": [0, 1]}


def test_a_group_with_members_does_not_wait() -> None:
    groups = delayed(t=2)
    groups.join("a")
    groups.clock.advance(3_000)
    groups.beat_as("a")
    assert groups.statuses(groups.join("b")) == {}


def test_after_a_restart_nobody_waits() -> None:
    groups = delayed(t=2)
    groups.join("a")
    groups.reload()
    assert groups.told(groups.beat_as("a")) == {"0": [0, 1]}


def test_an_assignment_holds_for_its_interval() -> None:
    groups = StreamsGroups(t=2)
    groups.options[GROUP]["streams.assignment.interval.ms"] = "1000"
    groups.join("a")
    groups.clock.advance(400)
    answer = groups.join("b")
    assert groups.statuses(answer) == {
        5: "Assignment delayed due to the configured assignment interval."
    }
    assert groups.response(answer).heartbeat_interval_ms == 600
    assert groups.response(answer).member_epoch == 2
    groups.clock.advance(600)
    assert groups.told(groups.beat_as("a")) == {"0": [0]}


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    groups = StreamsGroups(t=2)
    groups.options[GROUP]["streams.assignment.interval.ms"] = "1000"
    groups.join("a")
    groups.clock.jump_wall(-100_000)
    assert groups.statuses(groups.join("b")) == {}
