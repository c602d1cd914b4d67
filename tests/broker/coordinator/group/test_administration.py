from odradek.broker.coordinator.group.administration import (
    GroupFilter,
    decide_delete,
    decide_delete_offsets,
    decide_describe,
    decide_list,
)
from odradek.protocol.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.rig import GROUP, RANGE, Groups


def subscription(*topics: str) -> bytes:
    return b"\0\1" + ConsumerProtocolSubscription(topics=list(topics)).encode(1)


class TestDescribe:
    def test_a_stable_group(self) -> None:
        groups = Groups()
        leader, follower = groups.stable("a", "b")
        described = groups.decide(lambda shard: decide_describe(shard, GROUP, 5))
        assert described.group_state == "Stable"
        assert (described.protocol_type, described.protocol_data) == (
            "consumer",
            "range",
        )
        assert [each.member_id for each in described.members] == [leader, follower]
        first = described.members[0]
        assert (first.client_id, first.client_host) == ("a", "/127.0.0.1")
        assert (first.member_metadata, first.member_assignment) == (
            RANGE[0][1],
            leader.encode(),
        )

    def test_elsewhere_members_show_nothing_of_theirs(self) -> None:
        groups = Groups()
        groups.joined("a")
        described = groups.decide(lambda shard: decide_describe(shard, GROUP, 5))
        assert described.group_state == "CompletingRebalance"
        assert described.protocol_data == ""
        assert described.members[0].member_metadata == b""

    def test_an_unknown_group_is_dead(self) -> None:
        groups = Groups()
        described = groups.decide(lambda shard: decide_describe(shard, "x", 5))
        assert (described.error_code, described.group_state) == (0, "Dead")
        described = groups.decide(lambda shard: decide_describe(shard, "x", 6))
        assert (described.error_code, described.group_state) == (69, "Dead")
        assert described.error_message == "Group x not found."


class TestList:
    def listed(self, groups: Groups, states: list[str], types: list[str]) -> list[str]:
        wanted = GroupFilter.of(states, types)
        found = groups.decide(lambda shard: decide_list(shard, wanted))
        return [each.group_id for each in found]

    def test_filters_in_any_case(self) -> None:
        groups = Groups()
        groups.stable("a")
        groups.commit(1, group_id="simple")
        assert self.listed(groups, [], []) == [GROUP, "simple"]
        assert self.listed(groups, ["STABLE"], []) == [GROUP]
        assert self.listed(groups, ["empty"], ["Classic"]) == ["simple"]
        assert self.listed(groups, [], ["consumer"]) == []
        assert self.listed(groups, ["nonsense"], []) == []


class TestDelete:
    def test_an_empty_group_goes_with_its_offsets_for_good(self) -> None:
        groups = Groups()
        (member,) = groups.stable("a")
        groups.commit(7, generation_id=1, member_id=member)
        groups.leave(member)
        assert groups.decide(lambda shard: decide_delete(shard, GROUP)) == 0
        assert groups.state.group(GROUP) is None
        assert groups.offset() == -1
        groups.reload()
        assert groups.state.group(GROUP) is None
        assert groups.offset() == -1

    def test_a_group_with_members_stays(self) -> None:
        groups = Groups()
        groups.stable("a")
        refused = groups.decide(lambda shard: decide_delete(shard, GROUP))
        assert refused.code == ErrorCode.NON_EMPTY_GROUP

    def test_unknown_and_nameless(self) -> None:
        groups = Groups()
        assert groups.decide(lambda shard: decide_delete(shard, "x")).code == 69
        assert groups.decide(lambda shard: decide_delete(shard, "")).code == 69

    def test_pending_offsets_go_too(self) -> None:
        groups = Groups()
        groups.commit(1)
        groups.in_transaction(5, 9)
        groups.decide(lambda shard: decide_delete(shard, GROUP))
        groups.end_transaction(5, is_commit=True)
        assert groups.offset() == -1


class TestDeleteOffsets:
    def delete(self, groups: Groups, *places: tuple[str, int]) -> object:
        return groups.decide(
            lambda shard: decide_delete_offsets(shard, GROUP, places, list)
        )

    def test_of_an_empty_group(self) -> None:
        groups = Groups()
        groups.commit(7, places=[("t", 0), ("t", 1)])
        assert self.delete(groups, ("t", 0), ("t", 9)) == [0, 0]
        assert groups.offset("t", 0) == -1
        assert groups.offset("t", 1) == 7

    def test_not_of_topics_that_members_read(self) -> None:
        groups = Groups()
        groups.commit(7, places=[("t", 0), ("u", 0)])
        parked = groups.join(protocols=(("range", subscription("t")),))
        groups.clock.advance(0)
        groups.settle([parked.result().member_id])
        assert self.delete(groups, ("t", 0), ("u", 0)) == [86, 0]
        assert groups.offset("t") == 7

    def test_not_of_members_that_are_no_consumers(self) -> None:
        groups = Groups()
        groups.join(protocol_type="connect")
        groups.clock.advance(0)
        refused = self.delete(groups, ("t", 0))
        assert refused.code == ErrorCode.NON_EMPTY_GROUP  # type: ignore[attr-defined]

    def test_of_no_group(self) -> None:
        refused = self.delete(Groups(), ("t", 0))
        assert refused.code == ErrorCode.GROUP_ID_NOT_FOUND  # type: ignore[attr-defined]
