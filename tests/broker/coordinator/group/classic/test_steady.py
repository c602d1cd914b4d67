from dataclasses import replace
from typing import Any

import pytest

from odradek.broker.coordinator.group.classic.steady import (
    is_steady,
    steady_answer,
    steady_of,
)
from odradek.broker.coordinator.group.state.steady import Steady
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import HeartbeatRequest
from tests.broker.coordinator.group.rig import GROUP, SESSION_MS, Groups


def alone() -> tuple[Groups, Steady]:
    """A stable group of one member, and what that says again and again."""
    groups = Groups()
    (member,) = groups.joined("a")
    groups.sync(member.member_id, {member.member_id: b"1"})
    groups.flush()
    said = steady_of(groups.state, beat(member.member_id, groups.group.generation_id))
    assert said is not None
    return groups, said


def beat(member_id: str, generation_id: int) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=GROUP, generation_id=generation_id, member_id=member_id
    )


def test_a_member_of_a_stable_group_is_steady() -> None:
    groups, said = alone()
    assert is_steady(groups.state, said)
    assert said.timeout_ms == SESSION_MS
    assert said.session_key in groups.state.timers
    assert steady_answer().error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    "other",
    [
        {"group_id": "other"},
        {"member_id": "other"},
        {"epoch": 9},
        {"instance_id": "i"},
        {"timeout_ms": 1},
    ],
)
def test_it_has_to_be_who_is_known(other: dict[str, Any]) -> None:
    groups, said = alone()
    assert not is_steady(groups.state, replace(said, **other))


def test_nobody_is_while_members_are_asked_to_join_again() -> None:
    groups, said = alone()
    groups.join()
    assert not is_steady(groups.state, said)


def test_a_stranger_is_not() -> None:
    groups, _ = alone()
    assert steady_of(groups.state, beat("stranger", 1)) is None
