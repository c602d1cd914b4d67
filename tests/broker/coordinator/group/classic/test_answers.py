from odradek.broker.coordinator.group.classic.answers import (
    answer_join,
    answer_sync,
    joined,
    refused_join,
    refused_sync,
    synced,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.rig import Groups


def test_who_waits_is_answered_once() -> None:
    groups = Groups()
    (member_id,) = groups.stable("a")
    member = groups.group.members[member_id]
    for answer, attribute, response in (
        (answer_join, "awaiting_join", refused_join(25)),
        (answer_sync, "awaiting_sync", refused_sync(25)),
    ):
        parked = Parked()
        setattr(member, attribute, parked)
        assert answer(member, response)  # type: ignore[operator]
        assert parked.result() is response
        assert not answer(member, response)  # type: ignore[operator]


def test_an_answer_that_was_given_elsewhere_is_not_given_again() -> None:
    groups = Groups()
    (member_id,) = groups.stable("a")
    member = groups.group.members[member_id]
    member.awaiting_join = parked = Parked()
    parked.set_result("first")
    answer_join(member, refused_join(25))
    assert parked.result() == "first"


def test_only_a_leader_is_told_of_members_unless_that_is_overridden() -> None:
    groups = Groups()
    first, second = groups.stable("a", "b")
    members = groups.group.members
    assert len(joined(groups.group, members[first]).members) == 2
    assert joined(groups.group, members[second]).members == []
    assert joined(groups.group, members[first], with_members=False).members == []
    assert joined(groups.group, members[first], leader_id="x").leader == "x"


def test_metadata_is_that_of_the_chosen_protocol() -> None:
    groups = Groups()
    groups.stable("a")
    member = next(iter(groups.group.members.values()))
    answer = joined(groups.group, member)
    assert [each.metadata for each in answer.members] == [b"r"]


def test_refusals_say_nothing_of_the_group() -> None:
    answer = refused_join(ErrorCode.FENCED_INSTANCE_ID, "m")
    assert (answer.generation_id, answer.leader, answer.member_id) == (-1, "", "m")
    refused = refused_sync(ErrorCode.ILLEGAL_GENERATION)
    assert (refused.assignment, refused.protocol_name) == (b"", None)


def test_an_assignment_comes_with_its_protocol() -> None:
    groups = Groups()
    (member_id,) = groups.stable("a")
    answer = synced(groups.group, groups.group.members[member_id])
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert answer.assignment == member_id.encode()
