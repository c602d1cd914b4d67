import pytest

from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.broker.coordinator.group.state.streams.group import StreamsState
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.streams.rig import (
    GROUP,
    StreamsGroups,
    counting,
    mapping,
)


def test_who_joins_alone_gets_all_tasks() -> None:
    groups = StreamsGroups(t=3)
    answer = groups.join("a")
    assert groups.told(answer) == {"0": [0, 1, 2]}
    assert groups.response(answer).member_epoch == 2
    assert groups.statuses(answer) == {}
    assert groups.streams_group.state is StreamsState.STABLE
    assert groups.kinds() == [19, 23, 17, 21, 20, 22], "in Apache Kafka's order"


def test_a_heartbeat_without_news_writes_nothing() -> None:
    groups = StreamsGroups(t=3)
    groups.join("a")
    written = len(groups.fake.log)
    answer = groups.beat_as("a")
    assert groups.told(answer) is None
    assert groups.response(answer).heartbeat_interval_ms == 5000
    assert len(groups.fake.log) == written


def test_tasks_move_when_their_owner_has_given_them_up() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    assert groups.told(groups.join("b")) == {}
    assert groups.streams_group.state is StreamsState.RECONCILING
    assert groups.told(groups.beat_as("a")) == {"0": [0]}
    assert groups.told(groups.beat_as("b")) is None, "it is not given up yet"
    assert groups.told(groups.beat_as("a", owned={"0": [0]})) is None
    assert groups.told(groups.beat_as("b")) == {"0": [1]}
    assert groups.streams_group.state is StreamsState.STABLE
    assert groups.has("a") == {"0": [0]}
    assert groups.has("b") == {"0": [1]}


def test_who_has_not_heard_of_its_tasks_is_told_again() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")
    groups.beat_as("a", owned={"0": [0]})
    groups.beat_as("b")  # the answer is lost
    assert groups.has("b") == {"0": [1]}
    assert groups.told(groups.beat_as("b")) is None, "it may have heard it"
    assert groups.told(groups.beat_as("b", owned={})) == {"0": [1]}
    assert groups.told(groups.beat_as("b", owned={"0": [1]})) is None


def test_who_has_not_heard_what_to_give_up_is_told_again() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")  # the answer is lost
    assert groups.told(groups.beat_as("a", owned={"0": [0, 1]})) == {"0": [0]}


def test_what_is_replayed_is_what_was() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    groups.beat_as("a")
    before = groups.streams_group
    groups.reload()
    after = groups.streams_group
    assert after.topology == before.topology
    assert (after.epoch, after.assignment_epoch) == (before.epoch, 3)
    assert after.members == before.members
    assert (after.targets, after.configs) == (before.targets, before.configs)
    assert after.validated_epoch == 0
    written = len(groups.fake.log)
    assert groups.told(groups.beat_as("a")) is None
    assert len(groups.fake.log) == written, "after a start nothing has changed"


def test_a_group_waits_for_its_source_topics() -> None:
    groups = StreamsGroups()
    answer = groups.join("a")
    assert groups.statuses(answer) == {1: "Source topics t are missing."}
    assert groups.told(answer) == {}
    assert groups.streams_group.state is StreamsState.NOT_READY
    groups.topics.put("t", 2)
    assert groups.told(groups.beat_as("a")) == {"0": [0, 1]}
    groups.topics.put("t", 3)
    assert groups.told(groups.beat_as("a")) == {"0": [0, 1, 2]}


def test_a_group_waits_for_its_own_topics_which_are_to_be_made() -> None:
    groups = StreamsGroups(t=2)
    answer = groups.join("a", topology=counting())
    assert groups.statuses(answer) == {3: "Internal topics are missing: again, store"}
    assert [(each.name, each.partitions) for each in answer.missing] == [
        ("again", 2),
        ("store", 2),
    ]
    groups.topics.put("again", 2)
    groups.topics.put("store", 3)
    assert list(groups.statuses(groups.beat_as("a"))) == [2]
    groups.topics.put("store", 2)
    answer = groups.beat_as("a")
    assert (answer.missing, groups.told(answer)) == ((), {"0": [0, 1], "1": [0, 1]})


def test_a_topic_that_is_deleted_takes_the_tasks_with_it() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.topics.remove("t")
    answer = groups.beat_as("a")
    assert list(groups.statuses(answer)) == [1]
    assert groups.told(answer) == {}, "it is to give all up"
    assert groups.response(groups.beat_as("a", owned={})).member_epoch == 3


def test_standby_tasks_are_elsewhere() -> None:
    groups = StreamsGroups(t=2, again=2, store=2)
    groups.join("a", topology=counting())
    groups.join("b", topology=counting())
    groups.beat_as("a")
    groups.beat_as("a", owned={"0": [0], "1": [0]})
    groups.beat_as("b")
    groups.options[GROUP]["streams.num.standby.replicas"] = "1"
    answer = groups.beat_as("a")
    assert groups.told(answer) == {"0": [0], "1": [0]}
    assert groups.told_standby(answer) == {"1": [1]}
    assert groups.told_standby(groups.beat_as("b")) == {"1": [0]}


def test_members_of_one_process_do_not_follow_each_other() -> None:
    groups = StreamsGroups(t=2, again=2, store=2)
    groups.options[GROUP]["streams.num.standby.replicas"] = "1"
    groups.join("a", topology=counting(), process_id="p")
    answer = groups.join("b", topology=counting(), process_id="p")
    assert groups.told_standby(answer) == {}


def test_the_topology_is_that_of_the_first_member() -> None:
    groups = StreamsGroups(t=2, u=2)
    groups.join("a", topology=mapping("t", epoch=3))
    other = groups.join("b", topology=mapping("u", epoch=3))
    assert (other.code, str(other)) == (
        ErrorCode.INVALID_REQUEST,
        "Topology updates are not supported yet.",
    )
    assert groups.join("b", topology=mapping("u", epoch=4)).code == 42
    stale = groups.join("b", topology=mapping("u", epoch=2))
    assert groups.statuses(stale) == {
        0: "The member's topology epoch 2 is behind the group's topology epoch 3."
    }
    assert groups.statuses(groups.beat_as("b")) == groups.statuses(stale)
    assert groups.told(groups.join("c", topology=mapping("t", epoch=3))) is not None


def test_a_topology_that_cannot_be_is_refused_and_not_kept() -> None:
    groups = StreamsGroups(t=2)
    loop = counting()
    loop.subtopologies = loop.subtopologies[1:]
    refused = groups.join("a", topology=loop)
    assert refused.code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert not groups.state.streams_groups


def test_one_member_may_end_the_application() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    said = {
        4: "Streams group member a encountered a fatal error and requested a shutdown "
        "for the entire application."
    }
    assert groups.statuses(groups.beat_as("a", shutdown_application=True)) == said
    assert groups.statuses(groups.beat_as("b", shutdown_application=True)) == said
    groups.beat_as("a", -1)
    assert groups.statuses(groups.beat_as("b")) == said
    groups.beat_as("b", -1)
    assert groups.statuses(groups.join("c")) == {}, "they were all gone"


def test_who_leaves_may_end_the_application() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.join("b")
    left = groups.response(groups.beat_as("a", -1, shutdown_application=True))
    assert (left.member_id, left.member_epoch, left.status) == ("a", -1, [])
    assert list(groups.statuses(groups.beat_as("b"))) == [4]


def test_who_is_no_member_is_told_so() -> None:
    groups = StreamsGroups(t=2)
    refused = groups.beat_as("a", 5)
    assert str(refused) == "Streams group g not found."
    groups.join("a")
    assert groups.beat_as("b", 1).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.beat_as("b", -1).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.beat_as("a", 9).code == ErrorCode.FENCED_MEMBER_EPOCH
    assert groups.beat_as("a", 1).code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_lost_answer_is_forgiven() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.topics.put("t", 3)
    groups.beat_as("a")
    assert groups.member("a").holding.epoch == 3
    assert groups.response(groups.beat_as("a", 2, owned={"0": [0]})).member_epoch == 3
    assert groups.beat_as("a", 2).code == ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("owned", "message"),
    [
        ({"7": [0]}, "Subtopology 7 does not exist in the topology."),
        (
            {"0": [0, 2]},
            "Task 2 for subtopology 0 is invalid. Number of tasks for this "
            "subtopology: 2",
        ),
        (
            {"0": [-1]},
            "Task -1 for subtopology 0 is invalid. Number of tasks for this "
            "subtopology: 2",
        ),
    ],
)
def test_tasks_that_there_are_not_are_refused(
    owned: dict[str, list[int]], message: str
) -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    refused = groups.beat_as("a", owned=owned)
    assert (refused.code, str(refused)) == (ErrorCode.INVALID_REQUEST, message)


def test_a_full_group_takes_nobody_else() -> None:
    groups = StreamsGroups({"group_streams_max_size": 1}, t=2)
    groups.join("a")
    refused = groups.join("b")
    assert str(refused) == (
        "The streams group has reached its maximum capacity of 1 members."
    )
    assert groups.told(groups.join("a")) == {"0": [0, 1]}, "who is there may come again"


def test_a_group_without_a_topology_asks_its_members_to_join_again() -> None:
    """As a log may be that another program has cut."""
    groups = StreamsGroups(t=2)
    groups.join("a")
    groups.streams_group.topology = None
    assert groups.beat_as("a").code == ErrorCode.FENCED_MEMBER_EPOCH
    assert groups.told(groups.join("a")) == {"0": [0, 1]}


def test_an_empty_classic_group_becomes_a_streams_group() -> None:
    groups = StreamsGroups(t=2)
    groups.commit(7)
    groups.join("a")
    assert not groups.state.groups
    assert groups.kinds()[:2] == [1, 2]
    assert groups.offset() == 7


def test_groups_of_other_types_stay_so() -> None:
    groups = StreamsGroups(t=2)
    groups.state.share_groups[GROUP] = ShareGroup(GROUP)
    refused = groups.join("b")
    assert refused.code == ErrorCode.GROUP_ID_NOT_FOUND
    assert str(refused) == "Group g is not a streams group."
    assert str(groups.beat_as("b", 1)) == "Group g is not a streams group."
