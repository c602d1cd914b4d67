import pytest

from odradek.broker.coordinator.group.consumer.migration.upgrade import KNOWN_ASSIGNORS
from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    OwnedPartition,
)
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode, GroupIdNotFound
from tests.broker.coordinator.group.consumer.mixed_rig import (
    CLASSIC_SESSION_MS,
    GROUP,
    MixedGroups,
)

WITH_USER_DATA = b"\0\0" + ConsumerProtocolAssignment(user_data=b"x").encode(0)


def refusal(groups: MixedGroups) -> str:
    answer = groups.join("new")
    assert isinstance(answer, GroupIdNotFound), answer
    assert not groups.state.consumer_groups
    return str(answer).partition(" because ")[2]


def test_members_keep_what_they_have_and_the_new_one_waits() -> None:
    groups = MixedGroups(t=4)
    a, b = groups.classic_group_of("a", "b")
    answer = groups.join("new")
    assert (answer.member_epoch, groups.told(answer)) == (2, {})
    assert groups.state.group(GROUP) is None
    group = groups.consumer_group
    assert set(group.members) == {a, b, "new"}
    assert (groups.has(a), groups.has(b)) == ({"t": [0, 2]}, {"t": [1, 3]})
    assert group.state is ConsumerState.RECONCILING
    assert groups.member(a).is_classic
    assert groups.member(a).info.topic_names == ("t",)
    kinds = [key[1] for key, _ in groups.fake.log]
    gone = max(at for at, (key, _) in enumerate(groups.fake.log) if key[1] == 2)
    assert groups.fake.log[gone][1] is None
    assert kinds[gone + 1 : gone + 9] == [5, 5, 3, 7, 7, 6, 8, 8]


def test_the_records_say_it_all() -> None:
    groups = MixedGroups(t=4)
    groups.classic_group_of("a", "b")
    groups.join("new")
    before = groups.consumer_group
    groups.flush()
    groups.reload()
    after = groups.consumer_group
    assert after.members == before.members
    assert after.targets == before.targets
    assert groups.state.group(GROUP) is None


def test_classic_members_stay_alive_by_their_own_timeouts() -> None:
    groups = MixedGroups(t=4)
    a, b = groups.classic_group_of("a", "b")
    groups.join("new")
    groups.flush()
    groups.clock.advance(CLASSIC_SESSION_MS - 1)
    assert groups.classic_beat(a, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    groups.clock.advance(1)
    assert set(groups.consumer_group.members) == {a, "new"}
    assert b not in groups.consumer_group.members


def test_who_waits_for_the_classic_group_is_sent_back() -> None:
    groups = MixedGroups(t=4)
    a, b = groups.classic_group_of("a", "b")
    waiting = groups.classic_join(a)
    assert not waiting.done()
    groups.join("new")
    assert not waiting.done(), "nothing is durable yet"
    groups.flush()
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert set(groups.consumer_group.members) == {a, b, "new"}
    groups.clock.advance(CLASSIC_SESSION_MS - 1)
    assert len(groups.consumer_group.members) == 3, "the old timers do nothing"


def test_what_cannot_be_written_changes_nothing() -> None:
    groups = MixedGroups(t=4)
    a, _ = groups.classic_group_of("a", "b")
    groups.fail_appends()
    assert isinstance(groups.join("new"), CoordinatorNotAvailable)
    assert not groups.state.consumer_groups
    groups.fake.refusal = None
    assert groups.classic_beat(a, 1) == 0


def test_before_its_first_assignment_there_is_none_to_keep() -> None:
    groups = MixedGroups({"group_initial_rebalance_delay_ms": 3000}, t=2)
    waiting = groups.classic_join()
    answer = groups.join("new")
    assert groups.told(answer) == {"t": [1]}, "a part of it"
    groups.flush()
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_deleted_topic_is_not_taken_along() -> None:
    groups = MixedGroups(t=2)
    (a,) = groups.classic_group_of("a")
    groups.topics.remove("t")
    groups.join("new")
    assert groups.has(a) == {}


def test_what_two_have_is_kept_by_one() -> None:
    groups = MixedGroups(t=1)
    a, b = groups.classic_group_of("a", "b")
    classic = groups.group
    classic.members[b].assignment = classic.members[a].assignment
    groups.join("new")
    assert (groups.has(a), groups.has(b)) == ({"t": [0]}, {})


@pytest.mark.parametrize("policy", ["downgrade", "disabled"])
def test_where_it_is_switched_off(policy: str) -> None:
    groups = MixedGroups({"group_consumer_migration_policy": policy}, t=1)
    groups.classic_group_of("a")
    assert refusal(groups) == "online upgrade is disabled."


def test_who_speaks_otherwise_stays_classic() -> None:
    groups = MixedGroups(t=1)
    groups.classic_join(protocol_type="connect")
    assert refusal(groups) == "it does not use the consumer embedded protocol."


def test_what_cannot_be_read() -> None:
    groups = MixedGroups(t=1)
    (a,) = groups.classic_group_of("a")
    groups.group.members[a].protocols = (("range", b""),)
    assert refusal(groups) == "its embedded consumer protocol is malformed."
    groups.group.members[a].assignment = b"\1"
    assert refusal(groups) == "its embedded consumer protocol is malformed."


def test_what_another_assignor_knows_would_be_lost() -> None:
    groups = MixedGroups(t=1)
    (a,) = groups.classic_group_of("a")
    groups.group.members[a].assignment = WITH_USER_DATA
    groups.group.protocol_name = "of-our-own"
    assert refusal(groups).startswith("an unsupported custom assignor is in use.")


@pytest.mark.parametrize("assignor", KNOWN_ASSIGNORS)
def test_what_clients_own_assignors_say_besides_is_no_loss(assignor: str) -> None:
    """As librdkafka's leader, which sends members back where they were."""
    groups = MixedGroups(t=2)
    (a,) = groups.classic_group_of("a")
    said = ConsumerProtocolAssignment(
        assigned_partitions=[OwnedPartition(topic="t", partitions=[0, 1])],
        user_data=b"x",
    )
    groups.group.members[a].assignment = b"\0\0" + said.encode(0)
    groups.group.protocol_name = assignor
    groups.join("new")
    assert groups.has(a) == {"t": [0, 1]}


def test_more_than_may_be() -> None:
    groups = MixedGroups({"group_consumer_max_size": 1}, t=1)
    groups.classic_group_of("a", "b")
    assert refusal(groups) == "its size exceeds the consumer group maximum size."


def test_a_static_member_changes_its_protocol_and_keeps_its_place() -> None:
    groups = MixedGroups(t=2)
    waiting = [groups.classic_join(instance=name) for name in ("one", "two")]
    groups.clock.advance(0)
    joined = [each.result() for each in waiting]
    ids = [each.member_id for each in joined]
    given = {ids[0]: {"t": [0]}, ids[1]: {"t": [1]}}
    for each in joined:
        leads = each.leader == each.member_id
        groups.classic_sync(
            each.member_id,
            each.generation_id,
            given=given if leads else {},
            group_instance_id="one" if each is joined[0] else "two",
        )
    groups.flush()
    answer = groups.join("new", instance="one")
    assert groups.told(answer) == {"t": [0]}
    assert set(groups.consumer_group.members) == {"new", ids[1]}
    assert not groups.member("new").is_classic
