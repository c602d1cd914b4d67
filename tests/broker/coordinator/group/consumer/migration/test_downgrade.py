import pytest

from odradek.broker.coordinator.group.consumer.migration.downgrade import (
    becomes_classic,
)
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.consumer.mixed_rig import (
    CLASSIC_SESSION_MS,
    GROUP,
    MixedGroups,
)


def mixed(*classic: str, **options: object) -> tuple[MixedGroups, list[str]]:
    """A settled group of ``new``, and of members of the classic protocol."""
    groups = MixedGroups(dict(options), t=4)
    groups.join("new")
    ids = [groups.classic_join(client_id=name).member_id for name in classic]
    for _ in range(4):
        groups.settle(["new"])
        for each in ids:
            groups.classic_join(each, owned=groups.has(each))
    for each in ids:
        groups.classic_sync(each, groups.member(each).holding.epoch)
    groups.flush()
    return groups, ids


def test_when_the_last_other_one_leaves_the_group_is_a_classic_one() -> None:
    groups, (a, b) = mixed("a", "b")
    had, epoch = groups.has(a), groups.consumer_group.epoch
    assert groups.beat_as("new", -1).member_epoch == -1
    assert not groups.state.consumer_groups
    group = groups.group
    assert set(group.members) == {a, b}
    assert (group.generation_id, group.protocol_name) == (epoch, "range")
    assert groups.read_of(groups.classic_sync(a, epoch)) == had
    groups.flush()
    assert group.is_in(ClassicState.PREPARING_REBALANCE)
    assert groups.classic_beat(a, epoch) == ErrorCode.REBALANCE_IN_PROGRESS
    waiting = [groups.classic_join(a), groups.classic_join(b)]
    assert all(each.result().error_code == 0 for each in waiting)


def test_when_it_is_silent_too() -> None:
    groups, (a,) = mixed("a")
    for _ in range(9):
        groups.clock.advance(5_000)
        if GROUP in groups.state.consumer_groups:
            groups.classic_beat(a, groups.member(a).holding.epoch)
    groups.flush()
    assert not groups.state.consumer_groups
    assert list(groups.group.members) == [a]


def test_when_an_administrator_removes_it() -> None:
    groups, (a,) = mixed("a")
    assert groups.classic_leave("new") == [0]
    groups.flush()
    assert list(groups.group.members) == [a]


def test_records_say_it_all() -> None:
    groups, (a, b) = mixed("a", "b")
    groups.beat_as("new", -1)
    groups.flush()
    groups.reload()
    assert not groups.state.consumer_groups
    assert set(groups.group.members) == {a, b}
    assert groups.offset() == -1


def test_sessions_go_on_by_the_classic_timeouts() -> None:
    groups, (a, b) = mixed("a", "b")
    groups.beat_as("new", -1)
    groups.flush()
    groups.clock.advance(CLASSIC_SESSION_MS - 1)
    groups.classic_beat(a, groups.group.generation_id)
    groups.clock.advance(1)
    assert list(groups.group.members) == [a]
    assert b not in groups.group.members


def test_all_that_members_support_is_known() -> None:
    groups = MixedGroups(t=4)
    groups.join("new")
    groups.classic_join(protocols=("range", "roundrobin"))
    groups.beat_as("new", -1)
    groups.flush()
    (member,) = groups.group.members.values()
    assert [name for name, _ in member.protocols] == ["range", "roundrobin"]


def test_offsets_stay() -> None:
    groups, _ = mixed("a")
    epoch = groups.member("new").holding.epoch
    groups.commit(7, member_id="new", generation_id=epoch)
    groups.beat_as("new", -1)
    assert groups.offset() == 7


def test_a_classic_member_that_leaves_changes_nothing() -> None:
    groups, (a, b) = mixed("a", "b")
    assert groups.classic_leave(a) == [0]
    assert set(groups.consumer_group.members) == {"new", b}


@pytest.mark.parametrize(
    "options",
    [
        {"group_consumer_migration_policy": "upgrade"},
        {"group_consumer_migration_policy": "bidirectional", "group_max_size": 1},
    ],
    ids=["policy", "size"],
)
def test_where_it_cannot_be_it_stays(options: dict[str, object]) -> None:
    groups, (a, b) = mixed("a", "b", **options)
    groups.beat_as("new", -1)
    group = groups.consumer_group
    assert set(group.members) == {a, b}
    assert not becomes_classic(groups.state, group, ())
    # They go on in it: one joins again, and gets what was left.
    epoch = group.members[a].holding.epoch
    assert groups.classic_beat(a, epoch) == ErrorCode.REBALANCE_IN_PROGRESS
    joined = groups.classic_join(a, owned=groups.has(a))
    assert joined.generation_id == group.epoch
    assert groups.classic_beat(b, epoch) == ErrorCode.REBALANCE_IN_PROGRESS


def test_nobody_is_left() -> None:
    groups = MixedGroups(t=4)
    groups.join("new")
    assert not becomes_classic(groups.state, groups.consumer_group, {"new"})
    assert becomes_classic(groups.state, groups.consumer_group, {"new"}, joining=1)
    groups.beat_as("new", -1)
    assert groups.consumer_group.is_empty
