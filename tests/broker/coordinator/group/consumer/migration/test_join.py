import pytest

from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.mixed_rig import (
    REBALANCE_MS,
    MixedGroups,
)


def code_of(answer: object) -> int:
    assert isinstance(answer, KafkaError), answer
    return answer.code


def test_a_member_of_the_classic_protocol_gets_its_share() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    joined = groups.classic_join(client_id="old")
    assert joined.error_code == 0
    assert joined.member_id.startswith("old-")
    assert (joined.generation_id, joined.protocol_name) == (3, "range")
    assert (joined.leader, joined.members, joined.skip_assignment) == ("", [], False)
    synced = groups.classic_sync(joined.member_id, 3)
    assert groups.read_of(synced) == {}, "nothing is free yet"
    assert groups.classic_beat(joined.member_id, 3) == 0
    groups.settle(["a"])
    assert groups.classic_beat(joined.member_id, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    again = groups.classic_join(joined.member_id)
    assert again.generation_id == 3
    synced = groups.classic_sync(joined.member_id, 3)
    assert groups.read_of(synced) == {"t": [2, 3]}
    assert groups.classic_beat(joined.member_id, 3) == 0
    assert groups.consumer_group.state is ConsumerState.STABLE


def test_it_gives_up_what_it_has_to_by_joining_without_it() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    joined = groups.classic_join()
    groups.settle(["a"])
    member_id = joined.member_id
    groups.classic_join(member_id)
    groups.join("b")
    assert groups.classic_beat(member_id, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    again = groups.classic_join(member_id, owned={"t": [2, 3]})
    assert again.generation_id == 3, "it stays in its epoch"
    assert groups.read_of(groups.classic_sync(member_id, 3)) == {"t": [2]}
    assert groups.classic_beat(member_id, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    again = groups.classic_join(member_id, owned={"t": [2]})
    assert again.generation_id == 4
    groups.beat_as("b")
    assert groups.has("b") == {"t": [3]}


def test_an_eager_one_has_nothing_when_it_joins_again() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    member_id = groups.classic_join().member_id
    groups.settle(["a"])
    groups.classic_join(member_id)
    groups.join("b")
    again = groups.classic_join(member_id)
    assert again.generation_id == 4
    assert groups.read_of(groups.classic_sync(member_id, 4)) == {"t": [2]}


def test_who_does_not_know_its_id_is_told_one() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    refused = groups.classic_join(must_know_its_id=True)
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert list(groups.consumer_group.members) == ["a"]
    joined = groups.classic_join(refused.member_id, must_know_its_id=True)
    assert (joined.error_code, joined.member_id) == (0, refused.member_id)


def test_members_have_an_assignor_in_common() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    groups.classic_join(protocols=("range", "roundrobin"))
    other = groups.classic_join(protocols=("sticky",))
    assert code_of(other) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert groups.classic_join(protocols=("sticky", "range")).error_code == 0


@pytest.mark.parametrize(
    "fields",
    [{"protocol_type": "connect"}, {"protocols": ()}],
    ids=["type", "no protocol"],
)
def test_who_speaks_otherwise_cannot_join(fields: dict[str, object]) -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    answer = groups.classic_join(**fields)  # type: ignore[arg-type]
    assert code_of(answer) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_where_groups_have_one_protocol() -> None:
    off = {"group_consumer_migration_policy": "disabled"}
    groups = MixedGroups(off, t=4)
    groups.join("a")
    answer = groups.classic_join()
    assert code_of(answer) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_limits_are_those_of_both_protocols() -> None:
    groups = MixedGroups({"group_consumer_max_size": 1}, t=4)
    groups.join("a")
    assert code_of(groups.classic_join()) == ErrorCode.GROUP_MAX_SIZE_REACHED
    short = groups.classic_join(session_timeout_ms=1)
    assert code_of(short) == ErrorCode.INVALID_SESSION_TIMEOUT


class TestStatic:
    def test_a_classic_one_takes_the_place_of_any(self) -> None:
        groups = MixedGroups(t=4)
        groups.join("a", instance="i")
        groups.join("b")
        groups.settle()
        had = groups.has("a")
        joined = groups.classic_join(instance="i")
        assert set(groups.consumer_group.members) == {"b", joined.member_id}
        synced = groups.classic_sync(
            joined.member_id, joined.generation_id, group_instance_id="i"
        )
        assert groups.read_of(synced) == had

    def test_it_joins_again_with_its_id(self) -> None:
        groups = MixedGroups(t=4)
        groups.join("b")
        joined = groups.classic_join(instance="i")
        again = groups.classic_join(joined.member_id, instance="i")
        assert again.member_id == joined.member_id
        stranger = groups.classic_join("x", instance="i")
        assert code_of(stranger) == ErrorCode.FENCED_INSTANCE_ID
        unknown = groups.classic_join("x", instance="j")
        assert code_of(unknown) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_the_last_one_to_change_makes_a_classic_group(self) -> None:
        groups = MixedGroups(t=4)
        groups.join("a", instance="i")
        member_id = groups.classic_join().member_id
        groups.settle(["a"])
        groups.classic_join(member_id)
        had = groups.has("a")
        parked = groups.classic_join(instance="i")
        assert not groups.state.consumer_groups
        groups.flush()
        joined = parked.result()
        assert joined.error_code == 0
        group = groups.group
        assert set(group.members) == {joined.member_id, member_id}
        synced = groups.classic_sync(
            joined.member_id, joined.generation_id, group_instance_id="i"
        )
        assert groups.read_of(synced) == had, "it is told what it had"
        assert groups.classic_beat(member_id, joined.generation_id) == 0

    def test_alone_too(self) -> None:
        groups = MixedGroups(t=2)
        groups.join("a", instance="i")
        parked = groups.classic_join(instance="i")
        groups.flush()
        assert parked.result().error_code == 0
        assert groups.group.static_members.keys() == {"i"}

    def test_where_that_is_switched_off_the_group_stays(self) -> None:
        upgrade = {"group_consumer_migration_policy": "upgrade"}
        groups = MixedGroups(upgrade, t=2)
        groups.join("a", instance="i")
        joined = groups.classic_join(instance="i")
        assert joined.error_code == 0
        assert list(groups.consumer_group.members) == [joined.member_id]


def test_who_does_not_ask_for_its_assignment_is_removed() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    joined = groups.classic_join(rebalance_timeout_ms=20_000)
    for _ in range(4):
        groups.clock.advance(4_000)
        groups.beat_as("a")
        assert groups.classic_beat(joined.member_id, 3) == 0
    groups.clock.advance(4_000)
    assert list(groups.consumer_group.members) == ["a"]


def test_who_does_not_join_again_is_removed() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    joined = groups.classic_join(rebalance_timeout_ms=20_000)
    member_id = joined.member_id
    groups.classic_sync(member_id, 3)
    groups.settle(["a"])
    for _ in range(5):
        code = groups.classic_beat(member_id, 3)
        assert code == ErrorCode.REBALANCE_IN_PROGRESS
        groups.clock.advance(4_000)
        groups.beat_as("a")
    assert list(groups.consumer_group.members) == ["a"]
    assert groups.classic_beat(member_id, 3) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_has_joined_again_is_not() -> None:
    groups = MixedGroups(t=4)
    groups.join("a")
    member_id = groups.classic_join().member_id
    groups.classic_sync(member_id, 3)
    groups.settle(["a"])
    groups.classic_beat(member_id, 3)
    groups.classic_join(member_id)
    groups.classic_sync(member_id, 3)
    for _ in range(REBALANCE_MS // 5_000 + 1):
        groups.clock.advance(5_000)
        groups.beat_as("a")
        assert groups.classic_beat(member_id, 3) == 0
