from typing import Any

import pytest

from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.mixed_rig import MixedGroups


@pytest.fixture
def groups() -> MixedGroups:
    """``new``, and a member of the classic protocol that has its share: epoch 3."""
    groups = MixedGroups(t=4)
    groups.join("new")
    groups.classic_join("old")
    groups.settle(["new"])
    groups.classic_join("old")
    return groups


def code_of(answer: Any) -> int:
    assert isinstance(answer, KafkaError), answer
    return int(answer.code)


@pytest.mark.parametrize(
    ("member_id", "generation", "fields", "code"),
    [
        ("x", 3, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("new", 3, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        ("old", 2, {}, ErrorCode.ILLEGAL_GENERATION),
        ("old", 3, {"group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_is_none_of_the_classic_protocol(
    groups: MixedGroups,
    member_id: str,
    generation: int,
    fields: dict[str, Any],
    code: int,
) -> None:
    assert code_of(groups.classic_sync(member_id, generation, **fields)) == code
    assert groups.classic_beat(member_id, generation, **fields) == code


def test_the_protocol_is_the_one_that_it_was_told(groups: MixedGroups) -> None:
    synced = groups.classic_sync(
        "old", 3, protocol_type="consumer", protocol_name="range"
    )
    assert (synced.protocol_type, synced.protocol_name) == ("consumer", "range")
    assert groups.read_of(synced) == {"t": [2, 3]}
    for said in ({"protocol_name": "sticky"}, {"protocol_type": "connect"}):
        answer = groups.classic_sync("old", 3, **said)
        assert code_of(answer) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_who_is_behind_joins_again_first(groups: MixedGroups) -> None:
    groups.join("third")
    answer = groups.classic_sync("old", 3)
    assert code_of(answer) == ErrorCode.REBALANCE_IN_PROGRESS
    assert groups.classic_beat("old", 3) == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_waits_is_told_when_something_is_free(groups: MixedGroups) -> None:
    groups.topics.put("t", 8)
    groups.join("third")
    groups.classic_join("old", owned={"t": [2, 3]})
    epoch = groups.member("old").holding.epoch
    code = groups.classic_beat("old", epoch)
    assert code in (0, ErrorCode.REBALANCE_IN_PROGRESS)
    groups.settle(["new", "third"])
    groups.classic_join("old", owned=groups.has("old"))
    groups.settle(["new", "third"])
    assert groups.classic_beat("old", groups.member("old").holding.epoch) == 0


def test_a_heartbeat_keeps_it_alive(groups: MixedGroups) -> None:
    groups.classic_sync("old", 3)
    for _ in range(5):
        groups.clock.advance(9_000)
        assert groups.classic_beat("old", 3) == 0
        groups.beat_as("new")
    groups.clock.advance(10_000)
    assert list(groups.consumer_group.members) == ["new"]


def test_where_nobody_else_is_left_it_is_told_what_has_changed() -> None:
    upgrade = {"group_consumer_migration_policy": "upgrade"}
    groups = MixedGroups(upgrade, t=4)
    groups.join("new")
    groups.classic_join("old")
    groups.settle(["new"])
    groups.classic_join("old")
    groups.classic_sync("old", 3)
    groups.beat_as("new", -1)
    assert groups.classic_beat("old", 3) == ErrorCode.REBALANCE_IN_PROGRESS
    groups.classic_join("old", owned=groups.has("old"))
    synced = groups.classic_sync("old", 4)
    assert groups.read_of(synced) == {"t": [0, 1, 2, 3]}
    assert groups.classic_beat("old", 4) == 0
    groups.topics.put("t", 5)
    assert groups.classic_beat("old", 4) == ErrorCode.REBALANCE_IN_PROGRESS
    groups.classic_join("old", owned=groups.has("old"))
    assert groups.has("old") == {"t": [0, 1, 2, 3, 4]}
