"""What the log says of who comes and goes, and why."""

from collections.abc import Callable

import pytest

from odradek.broker.coordinator.group.classic import rebalance
from tests.broker.coordinator.group.rig import RANGE, REBALANCE_MS, SESSION_MS, Groups


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was said since it was last asked."""
    caplog.set_level("INFO", rebalance.__name__)

    def take() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    return take


def test_a_member_joins_closes_and_is_the_last(told: Callable[[], list[str]]) -> None:
    groups = Groups()
    (member,) = groups.stable("a")
    assert told() == [
        f"group g, generation 0: {member} joins; the group rebalances",
        "group g, generation 1: begins with 1 member",
    ]
    groups.leave(member)
    assert told() == [
        f"group g, generation 1: {member} has left: it was closed, or has "
        "unsubscribed; the group rebalances",
        "group g, generation 2: no members are left",
    ]


def test_a_session_that_is_over(told: Callable[[], list[str]]) -> None:
    groups = Groups()
    leader, silent = groups.stable("a", "b")
    groups.clock.advance(SESSION_MS - 1)
    groups.beat(leader)
    told()
    groups.clock.advance(1)
    assert told() == [
        f"group g, generation 1: {silent} was not heard of for its session timeout of "
        f"{SESSION_MS} ms, and is removed; the group rebalances"
    ]


def test_who_leaves_while_others_join_is_told_too(
    told: Callable[[], list[str]],
) -> None:
    groups = Groups()
    leader, follower = groups.stable("a", "b")
    groups.join(leader)
    told()
    groups.leave(follower)
    assert told()[0].startswith(f"group g, generation 1: {follower} has left: ")


def test_who_does_not_join_again_in_time(told: Callable[[], list[str]]) -> None:
    groups = Groups()
    leader, busy = groups.stable("a", "b")
    groups.join(leader)
    told()
    for _ in range(REBALANCE_MS // 5000):
        groups.beat(busy)  # it polls nothing, and beats in its background
        groups.clock.advance(5000)
    assert told() == [
        f"group g, generation 1: {busy} has not joined again within the rebalance "
        f"timeout of {REBALANCE_MS} ms (max.poll.interval.ms), and is removed",
        "group g, generation 2: begins with 1 member",
    ]


def test_who_does_not_ask_for_an_assignment(told: Callable[[], list[str]]) -> None:
    groups = Groups()
    leader, silent = (each.member_id for each in groups.joined("a", "b"))
    groups.sync(leader, {leader: b"1"})
    groups.flush()
    told()
    for _ in range(REBALANCE_MS // 5000):
        groups.beat(leader)
        groups.beat(silent)
        groups.clock.advance(5000)
    assert told() == [
        f"group g, generation 1: {silent} did not ask for an assignment within the "
        f"rebalance timeout of {REBALANCE_MS} ms, and is removed; the group rebalances"
    ]


def test_static_members_have_their_names(told: Callable[[], list[str]]) -> None:
    groups = Groups()
    answer = groups.join(instance="worker-1")
    groups.clock.advance(0)
    member = answer.result().member_id
    groups.settle([member])
    assert f"static member worker-1 ({member}) joins" in told()[0]
    groups.join(instance="worker-1")
    (line,) = told()
    assert line.startswith("group g, generation 1: static member worker-1 (worker-1-")
    assert line.endswith(f") is back in the place of {member}")
    groups.flush()
    groups.join(instance="worker-1", protocols=(("other", b"o"), *RANGE))
    assert "is back in the place of worker-1-" in told()[0]
    groups.leave("", instance="worker-1")
    assert "static member worker-1 (worker-1-" in told()[0]
