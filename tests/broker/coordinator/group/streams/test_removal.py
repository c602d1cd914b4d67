from typing import Any

from odradek.broker.coordinator.group.administration import decide_delete_offsets
from odradek.broker.coordinator.group.classic.join import Joining
from odradek.broker.coordinator.group.kinds import decide_any_join
from odradek.broker.coordinator.group.offsets.expiry import MINUTE_MS, decide_expiry
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.rig import RANGE
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups

WEEK_MS = 7 * 24 * 60 * MINUTE_MS


def emptied() -> StreamsGroups:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.commit(7, member_id="a", generation_id=2)
    groups.beat_as("a", -1)
    return groups


def test_a_group_with_members_stays() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    assert groups.delete().code == ErrorCode.NON_EMPTY_GROUP


def test_nothing_is_left_of_one_that_is_deleted() -> None:
    groups = emptied()
    since = len(groups.fake.log)
    assert groups.delete() == ErrorCode.NONE
    assert groups.kinds(since) == [1, 20, 17, 23]
    assert groups.state.group_of_any_type(GROUP) is None
    groups.reload()
    assert groups.state.group_of_any_type(GROUP) is None
    assert groups.told(groups.join("a")) == {"0": [0, 1]}


def test_who_waits_for_more_members_is_waited_for_no_more() -> None:
    groups = StreamsGroups(t=2)
    groups.options[GROUP]["streams.initial.rebalance.delay.ms"] = "3000"
    groups.join("a")
    groups.beat_as("a", -1)
    assert groups.delete() == ErrorCode.NONE
    assert not len(groups.state.timers)


def test_offsets_that_members_read_stay() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.commit(7, member_id="a", generation_id=2)

    def delete() -> Any:
        return groups.decide(
            lambda shard: decide_delete_offsets(shard, GROUP, [("t", 0)], list)
        )

    assert delete() == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    groups.beat_as("a", -1)
    assert delete() == [ErrorCode.NONE]


def test_an_empty_group_expires_with_its_offsets() -> None:
    groups = emptied()
    groups.clock.advance(WEEK_MS - 1)
    groups.decide(decide_expiry)
    assert GROUP in groups.state.streams_groups
    groups.clock.advance(1)
    groups.decide(decide_expiry)
    assert groups.state.group_of_any_type(GROUP) is None


def test_what_a_group_reads_does_not_expire() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.commit(7, member_id="a", generation_id=2)
    groups.clock.jump_wall(WEEK_MS)
    groups.decide(decide_expiry)
    assert groups.offset() == 7


def join_classic(groups: StreamsGroups, member_id: str = "") -> Any:
    joining = Joining(
        group_id=GROUP,
        member_id=member_id,
        group_instance_id=None,
        client_id="c",
        client_host="/h",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=RANGE,
        must_know_its_id=True,
        knows_skip_assignment=True,
    )
    return groups.decide(lambda shard: decide_any_join(shard, joining))


def test_an_empty_group_makes_way_for_a_classic_one() -> None:
    groups = emptied()
    assert join_classic(groups, "b").code == ErrorCode.UNKNOWN_MEMBER_ID
    assert GROUP in groups.state.streams_groups
    join_classic(groups)
    assert GROUP not in groups.state.streams_groups
    assert GROUP in groups.state.groups
    assert groups.offset() == 7


def test_one_with_members_does_not() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    assert join_classic(groups).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
