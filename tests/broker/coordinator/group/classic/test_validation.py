import pytest

from odradek.broker.coordinator.group.classic.validation import (
    check_generation,
    check_member,
    check_protocol,
    known_group,
)
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    FencedInstanceId,
    IllegalGeneration,
    InconsistentGroupProtocol,
    UnknownMemberId,
)
from tests.broker.coordinator.group.rig import GROUP, Groups


def scene() -> tuple[Groups, str, str]:
    """A dynamic member, and a static one by the name of ``two``."""
    groups = Groups()
    parked = [groups.join(), groups.join(instance="two")]
    groups.clock.advance(0)
    dynamic, static = (each.result().member_id for each in parked)
    return groups, dynamic, static


def test_a_group_is_known_while_it_lives() -> None:
    groups, _, _ = scene()
    assert known_group(groups.state, GROUP) is groups.group
    with pytest.raises(UnknownMemberId):
        known_group(groups.state, "other")
    groups.group.state = ClassicState.DEAD
    with pytest.raises(CoordinatorNotAvailable):
        known_group(groups.state, GROUP)


def test_a_member_is_who_has_the_id_and_the_name_if_it_says_one() -> None:
    groups, dynamic, static = scene()
    group = groups.group
    assert check_member(group, dynamic, None).member_id == dynamic
    assert check_member(group, static, "two").member_id == static
    assert check_member(group, static, None).member_id == static
    for member_id, instance in (("x", None), ("", None), (dynamic, "three")):
        with pytest.raises(UnknownMemberId):
            check_member(group, member_id, instance)
    for member_id in ("x", dynamic, ""):
        with pytest.raises(FencedInstanceId):
            check_member(group, member_id, "two")


@pytest.mark.parametrize("generation", [-1, 0, 2])
def test_another_generation_is_illegal(generation: int) -> None:
    groups, _, _ = scene()
    check_generation(groups.group, 1)
    with pytest.raises(IllegalGeneration):
        check_generation(groups.group, generation)


def test_protocols_are_compared_where_both_sides_say_one() -> None:
    groups, _, _ = scene()
    group = groups.group
    for kind, name in ((None, None), ("consumer", None), (None, "range")):
        check_protocol(group, kind, name)
    for kind, name in (("connect", None), (None, "sticky"), ("consumer", "x")):
        with pytest.raises(InconsistentGroupProtocol):
            check_protocol(group, kind, name)
    group.protocol_name = None  # before its first generation
    check_protocol(group, "consumer", "anything")
