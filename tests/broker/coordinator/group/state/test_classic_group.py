"""One group: members, votes, leaders; as its record says it, and back."""

import pytest

from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_member import (
    ClassicMember,
    Protocols,
)
from odradek.broker.coordinator.group.state.classic_states import (
    TRANSITIONS,
    ClassicEvent,
    ClassicState,
)
from odradek.broker.runtime.parked import Parked

NOW_MS = 1000
RANGE: Protocols = (("range", b"r"),)
BOTH: Protocols = (("sticky", b"s"), ("range", b"r"))


def member(
    member_id: str, protocols: Protocols = RANGE, instance: str | None = None
) -> ClassicMember:
    return ClassicMember(
        member_id, instance, "client", "/host", 60_000, 10_000, "consumer", protocols
    )


def group_of(*members: ClassicMember) -> ClassicGroup:
    group = ClassicGroup("g", NOW_MS)
    for each in members:
        group.add(each)
    return group


@pytest.mark.parametrize("before", ClassicState)
@pytest.mark.parametrize("event", ClassicEvent)
def test_an_event_leads_where_the_table_says_or_is_a_bug(
    before: ClassicState, event: ClassicEvent
) -> None:
    group = ClassicGroup("g", NOW_MS)
    group.state = before
    if group.can(event):
        group.note(event, NOW_MS + 1)
        assert group.state is TRANSITIONS[before][event]
        assert group.state_timestamp == NOW_MS + 1
        return
    with pytest.raises(AssertionError):
        group.note(event, NOW_MS + 1)
    assert group.state is before


class TestLeaders:
    def test_the_first_member_leads_and_names_the_type(self) -> None:
        group = group_of(member("a"), member("b"))
        assert group.is_leader("a")
        assert group.protocol_type == "consumer"

    def test_another_leads_when_it_goes_and_nobody_when_all_do(self) -> None:
        group = group_of(member("a"), member("b"))
        group.remove("a")
        assert group.is_leader("b")
        group.remove("b")
        assert group.leader_id is None

    def test_one_is_elected_who_has_joined(self) -> None:
        group = group_of(member("a"), member("b"))
        assert not group.maybe_elect_leader()
        group.members["b"].awaiting_join = Parked()
        assert group.maybe_elect_leader()
        assert group.is_leader("b")
        group.members["a"].awaiting_join = Parked()
        assert group.maybe_elect_leader()
        assert group.is_leader("b")  # who has joined goes on


class TestProtocols:
    def test_only_what_all_support_is_common(self) -> None:
        group = group_of(member("a", BOTH))
        group.note(ClassicEvent.REBALANCE_BEGUN, NOW_MS)
        assert group.supports("consumer", ["sticky"])
        group.add(member("b"))
        assert not group.supports("consumer", ["sticky"])
        assert group.supports("consumer", ["other", "range"])
        assert not group.supports("connect", ["range"])

    def test_a_protocol_that_is_named_twice_counts_once(self) -> None:
        group = group_of(member("a", RANGE + RANGE), member("b"))
        assert group.select_protocol() == "range"
        group.remove("b")
        group.remove("a")
        group.add(member("c", BOTH))
        assert group.select_protocol() == "sticky"

    def test_what_a_member_says_anew_replaces_what_it_said(self) -> None:
        group = group_of(member("a", BOTH))
        group.update(group.members["a"], RANGE, 5, 6)
        assert group.select_protocol() == "range"
        found = group.members["a"]
        assert (found.rebalance_timeout_ms, found.session_timeout_ms) == (5, 6)

    def test_an_empty_group_takes_any_type_that_has_a_name(self) -> None:
        group = ClassicGroup("g", NOW_MS)
        assert group.supports("connect", ["x"])
        assert not group.supports("", ["x"])
        assert not group.supports("connect", [])


class TestStatic:
    def test_a_new_id_takes_its_place(self) -> None:
        group = group_of(member("a", instance="one"), member("b"))
        group.replace_static("a", "a2")
        assert list(group.members) == ["a2", "b"]
        assert group.static_members == {"one": "a2"}
        assert group.is_leader("a2")
        assert group.members["a2"].member_id == "a2"

    def test_its_name_is_free_when_it_goes(self) -> None:
        group = group_of(member("a", instance="one"))
        group.remove("a")
        assert group.static_members == {}


class TestGenerations:
    def test_with_members_the_assignment_is_awaited(self) -> None:
        group = group_of(member("a"), member("b"))
        group.note(ClassicEvent.REBALANCE_BEGUN, NOW_MS)
        group.begin_generation(NOW_MS)
        assert group.state is ClassicState.COMPLETING_REBALANCE
        assert (group.generation_id, group.protocol_name) == (1, "range")
        assert group.pending_sync_ids == {"a", "b"}

    def test_without_members_it_is_empty(self) -> None:
        group = ClassicGroup("g", NOW_MS)
        group.note(ClassicEvent.REBALANCE_BEGUN, NOW_MS)
        group.begin_generation(NOW_MS)
        assert group.state is ClassicState.EMPTY
        assert (group.generation_id, group.protocol_name) == (1, None)

    def test_all_have_joined_when_nobody_is_missing_or_expected(self) -> None:
        group = group_of(member("a"))
        assert not group.has_all_joined
        group.members["a"].awaiting_join = Parked()
        assert group.has_all_joined
        group.pending_join_ids.add("b")
        assert not group.has_all_joined

    def test_a_rebalance_waits_as_long_as_its_most_patient_member(self) -> None:
        group = group_of(member("a"), member("b"))
        group.members["b"].rebalance_timeout_ms = 70_000
        assert group.rebalance_timeout_ms == 70_000
        assert ClassicGroup("g", NOW_MS).rebalance_timeout_ms == 0


class TestRecords:
    def test_a_stable_group_is_the_same_again(self) -> None:
        group = group_of(member("a", BOTH, "one"), member("b"))
        group.note(ClassicEvent.REBALANCE_BEGUN, NOW_MS)
        group.begin_generation(NOW_MS)
        stored = group.stored({"a": b"1", "stranger": b"2"})
        again = ClassicGroup.loaded("g", stored)
        assert again.state is ClassicState.STABLE
        assert again.stored() == stored
        assert again.members["a"].assignment == b"1"
        assert again.members["b"].assignment == b""
        assert again.members["a"].protocols == RANGE  # the one that was chosen
        assert again.static_members == {"one": "a"}
        assert again.is_leader("a")

    def test_an_empty_group_remembers_when_it_became_so(self) -> None:
        group = ClassicGroup("g", NOW_MS)
        again = ClassicGroup.loaded("g", group.stored())
        assert again.state is ClassicState.EMPTY
        assert again.state_timestamp == NOW_MS
        assert again.protocol_type is None

    def test_old_records_do_not_say_how_long_a_rebalance_waits(self) -> None:
        stored = group_of(member("a")).stored()
        stored.members[0].rebalance_timeout = -1
        again = ClassicGroup.loaded("g", stored)
        assert again.members["a"].rebalance_timeout_ms == 10_000
