import pytest

from odradek.broker.coordinator.group.consumer.draft import Draft
from odradek.broker.coordinator.group.consumer.membership import (
    Noted,
    Place,
    advance,
    begin_epoch,
    check_size,
    note,
    take_over,
)
from odradek.broker.coordinator.group.state.consumer.member import MemberInfo
from odradek.protocol.errors import GroupMaxSizeReached, InvalidRegularExpression
from tests.broker.coordinator.group.consumer.rig import ConsumerGroups

READS_T = MemberInfo(topic_names=("t",))


def draft_of(groups: ConsumerGroups) -> Draft:
    return Draft(groups.state, groups.consumer_group)


def test_there_is_room_for_who_is_in() -> None:
    groups = ConsumerGroups({"group_consumer_max_size": 1}, t=1)
    groups.join("a")
    check_size(groups.state, groups.consumer_group, "a")
    with pytest.raises(GroupMaxSizeReached, match=r"maximum capacity of 1 members\."):
        check_size(groups.state, groups.consumer_group, "b")


@pytest.mark.parametrize(
    ("before", "after", "noted"),
    [
        (READS_T, READS_T, Noted()),
        (READS_T, READS_T._replace(rack_id="r"), Noted()),
        (READS_T, MemberInfo(topic_names=("u",)), Noted(True, True)),
        (None, READS_T, Noted(True, True)),
        (None, MemberInfo(), Noted()),
        (READS_T, READS_T._replace(pattern="u.*"), Noted(True, False)),
        (READS_T._replace(pattern="u.*"), READS_T, Noted(True, True)),
    ],
)
def test_what_is_said_may_be_other_topics(
    before: MemberInfo | None, after: MemberInfo, noted: Noted
) -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    draft = draft_of(groups)
    place = Place("b" if before is None else "a", before)
    assert note(draft, place, after) == noted
    assert bool(draft.records) == (before != after)


def test_a_pattern_is_looked_at_before_anything_is_written() -> None:
    groups = ConsumerGroups(t=1)
    groups.join("a")
    draft = draft_of(groups)
    with pytest.raises(InvalidRegularExpression):
        note(draft, Place("b"), MemberInfo(pattern="("))
    assert not draft.records


def test_another_member_is_in_the_place_of_the_first() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a", instance="i")
    draft = draft_of(groups)
    known = groups.member("a")
    place = take_over(draft, known, "b")
    assert place == Place("b", known.info, known.holding._replace(epoch=0), "a")
    begin_epoch(draft, Noted())
    assert known.info is not None
    holding = advance(groups.state, draft, place, known.info, Noted(), {})
    assert (holding.epoch, holding.assigned) == (2, known.holding.assigned)
    kinds = [record.encode()[0][1] for record in draft.records]
    assert kinds == [8, 7, 5, 5, 7, 8]


def test_who_has_all_writes_nothing() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a")
    draft, member = draft_of(groups), groups.member("a")
    begin_epoch(draft, Noted())
    place = Place.of(member)
    holding = advance(groups.state, draft, place, member.info, Noted(), None)
    assert holding is member.holding
    assert not draft.records
