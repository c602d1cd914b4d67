"""What records make of a shard of groups."""

from odradek.broker.coordinator.decision import Place
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
)
from odradek.protocol.errors import CoordinatorNotAvailable
from tests.broker.coordinator.group.rig import GROUP, Groups


def test_an_offset_brings_its_group_along_a_tombstone_does_not() -> None:
    groups = Groups()
    groups.state.replay(OffsetRecord(GROUP, "t", 0, None), Place(0, 5))
    assert groups.state.group(GROUP) is None
    groups.state.replay(OffsetRecord(GROUP, "t", 0, CommittedOffset(1)), Place(1, 7))
    assert groups.group.state is ClassicState.EMPTY
    assert groups.group.state_timestamp == 7


def test_so_does_an_offset_of_a_transaction() -> None:
    groups = Groups()
    groups.in_transaction(5, 9)
    assert groups.group.state is ClassicState.EMPTY


def test_an_offset_leaves_a_group_as_it_is() -> None:
    groups = Groups()
    groups.stable("a")
    group = groups.group
    groups.state.replay(OffsetRecord(GROUP, "t", 0, CommittedOffset(1)), Place(1, 7))
    assert groups.group is group


def test_a_tombstone_ends_a_group_and_is_no_harm_to_none() -> None:
    groups = Groups()
    groups.state.replay(GroupRecord(GROUP, None), Place(0, 0))
    groups.leave(*groups.stable("a"))
    group = groups.group
    groups.state.replay(GroupRecord(GROUP, None), Place(1, 0))
    assert group.state is ClassicState.DEAD
    assert groups.state.group(GROUP) is None


def test_a_group_of_records_replaces_what_was_there() -> None:
    groups = Groups()
    (member,) = groups.stable("a")
    stored = groups.group.stored()
    again = Groups()
    again.state.replay(OffsetRecord(GROUP, "t", 0, CommittedOffset(1)), Place(0, 0))
    again.state.replay(GroupRecord(GROUP, stored), Place(1, 0))
    assert again.group.state is ClassicState.STABLE
    assert list(again.group.members) == [member]
    assert again.offset() == 1


def test_of_then_and_undo_one_is_called() -> None:
    groups = Groups()
    groups.leave(*groups.stable("a"))
    record = GroupRecord(GROUP, groups.group.stored())
    called: list[str] = []

    def write() -> None:
        groups.state.write(
            record, lambda: called.append("then"), lambda _: called.append("undo")
        )

    write()
    assert called == []
    groups.flush()
    assert called == ["then"]
    write()
    groups.fake.flush(CoordinatorNotAvailable())
    assert called == ["then", "undo"]
    groups.fail_appends()
    write()
    assert called == ["then", "undo", "undo"]


def test_a_record_of_another_kind_is_none() -> None:
    assert Groups().state.decode(b"\0\x12\0\1g", b"\0\0\0\0\0\1") is None


def test_its_summary_counts_groups_members_and_offsets() -> None:
    groups = Groups()
    groups.stable("a", "b")
    for partition in range(3):
        record = OffsetRecord("other", "t", partition, CommittedOffset(1))
        groups.state.replay(record, Place(partition, 7))
    assert groups.state.summary() == {
        "group": 2,
        "member": 2,
        "committed offset": 3,
    }


def test_watchers_are_told_of_each_state_that_a_group_enters() -> None:
    groups = Groups()
    states: list[str] = []
    groups.state.watchers.append(lambda group: states.append(group.state.value))
    groups.leave(*groups.stable("a"))
    groups.state.replay(GroupRecord(GROUP, None), Place(1, 0))
    assert states == [
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "PreparingRebalance",
        "Empty",
        "Dead",
    ]
