"""An id is one group: what members of other protocols are told of a share group."""

from typing import Any

import pytest

from odradek.broker.coordinator.group.administration import (
    GroupFilter,
    decide_delete_offsets,
    decide_describe,
    decide_list,
)
from odradek.broker.coordinator.group.classic.join import Joining
from odradek.broker.coordinator.group.consumer.finding import (
    find_group,
    known_group,
)
from odradek.broker.coordinator.group.kinds import decide_any_join, decide_any_leave
from odradek.protocol.errors import ErrorCode, GroupIdNotFound, KafkaError
from odradek.protocol.messages.groups import MemberIdentity
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups


def shared() -> ShareGroups:
    groups = ShareGroups(t=1)
    groups.join("a")
    return groups


def code(answer: Any) -> int:
    assert isinstance(answer, KafkaError), answer
    return answer.code


def test_a_classic_member_shares_no_protocol_with_it() -> None:
    groups = shared()
    joining = Joining(
        GROUP,
        "",
        None,
        "client",
        "/127.0.0.1",
        5000,
        10_000,
        "consumer",
        (("range", b""),),
        must_know_its_id=False,
        knows_skip_assignment=True,
    )
    refused = groups.decide(lambda shard: decide_any_join(shard, joining))
    assert code(refused) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert not groups.state.groups


def test_a_classic_member_cannot_leave_it() -> None:
    leaving = [MemberIdentity(member_id="a")]
    answer = shared().decide(lambda shard: decide_any_leave(shard, GROUP, leaving))
    assert [each.error_code for each in answer.members] == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_consumer_finds_no_group() -> None:
    groups = shared()
    with pytest.raises(GroupIdNotFound, match="is not a consumer group"):
        find_group(groups.state, GROUP, is_joining=True)
    with pytest.raises(GroupIdNotFound, match="is not a consumer group"):
        known_group(groups.state, GROUP)


def test_it_has_no_committed_offsets() -> None:
    groups = shared()
    assert code(groups.commit(4)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert code(groups.txn_commit(4)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert groups.fetch(None) == []
    places = [("t", 0)]
    refused = groups.decide(
        lambda shard: decide_delete_offsets(shard, GROUP, places, list)
    )
    assert code(refused) == ErrorCode.GROUP_ID_NOT_FOUND


def test_it_is_no_classic_group_to_describe() -> None:
    groups = shared()
    found = groups.decide(lambda shard: decide_describe(shard, GROUP, 6))
    assert found.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert found.error_message == f"Group {GROUP} is not a classic group."


def test_it_is_listed_as_what_it_is() -> None:
    groups = shared()
    groups.state.get_or_create("classic")
    wanted = GroupFilter.of(["STABLE"], ["Share"])
    (listed,) = groups.decide(lambda shard: decide_list(shard, wanted))
    assert (listed.group_id, listed.group_type) == (GROUP, "share")
    assert (listed.protocol_type, listed.group_state) == ("share", "Stable")
    everything = groups.decide(lambda shard: decide_list(shard, GroupFilter()))
    assert len(everything) == 2


def test_it_counts_like_any_other() -> None:
    groups = shared()
    assert groups.state.summary()["group"] == 1
    assert groups.state.summary()["member"] == 1
    assert groups.state.group_of_any_type(GROUP) is groups.share_group
    assert groups.state.all_groups() == [groups.share_group]
