from odradek.broker.coordinator.group.share.answers import (
    left_answer,
    refused_share_beat,
    share_beat_answer,
)
from odradek.broker.coordinator.group.state.share.member import ShareHolding
from odradek.protocol.errors import GroupIdNotFound
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups

T, U = b"t".ljust(16), b"u".ljust(16)


def test_an_assignment_is_told_in_order() -> None:
    request = ShareGroupHeartbeatRequest(group_id=GROUP, member_id="m")
    holding = ShareHolding(4, 3, {U: frozenset({0}), T: frozenset({2, 1})})
    shard = ShareGroups().state
    answer = share_beat_answer(shard, request, holding, with_assignment=True)
    assert (answer.member_id, answer.member_epoch) == ("m", 4)
    assert answer.assignment is not None
    told = [
        (each.topic_id, each.partitions) for each in answer.assignment.topic_partitions
    ]
    assert told == [(T, [1, 2]), (U, [0])]
    answer = share_beat_answer(shard, request, holding, with_assignment=False)
    assert answer.assignment is None


def test_who_has_left_is_told_no_interval() -> None:
    answer = left_answer("m", -1)
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (
        0,
        -1,
        0,
    )


def test_a_refusal_says_why() -> None:
    answer = refused_share_beat(GroupIdNotFound("gone"))
    assert (answer.error_code, answer.error_message) == (69, "gone")
    assert answer.member_id is None
