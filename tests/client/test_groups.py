import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.client.groups import delete_group, describe_group, list_groups
from odradek.protocol.errors import (
    ErrorCode,
    GroupIdNotFound,
    NonEmptyGroup,
    UnsupportedVersion,
)
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupMember,
    ConsumerGroupTopicPartitions,
    DescribedConsumerGroup,
)
from odradek.protocol.messages.group_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import Member, create_topic
from tests.fakes.scripted import scripted_cluster


def test_the_life_of_a_group(cluster: Cluster) -> None:
    create_topic(cluster, "life", 3)
    with pytest.raises(GroupIdNotFound):
        describe_group(cluster, "life")
    member = Member(cluster, "life", "life", 2, 0)
    assert ("life", "consumer", "Stable", "classic") in list_groups(cluster)
    group = describe_group(cluster, "life")
    assert group[:5] == ("life", "Stable", "classic", "consumer", "range")
    assert group.coordinator == cluster.coordinator("life")
    (described,) = group.members
    assert (described.member_id, described.client_id) == (member.member_id, "odradek")
    assert described.instance_id is None
    assert described.host == "/127.0.0.1"
    assert described.assignment == [("life", 0), ("life", 2)]
    with pytest.raises(NonEmptyGroup):
        delete_group(cluster, "life")
    member.leave()
    group = describe_group(cluster, "life")
    assert (group.state, group.assignor, group.members) == ("Empty", "", [])
    delete_group(cluster, "life")
    with pytest.raises(GroupIdNotFound):
        delete_group(cluster, "life")


def test_filters(cluster: Cluster) -> None:
    create_topic(cluster, "filters", 1)
    commit_offsets(cluster, "filters-empty", {TopicPartition("filters", 0): 0})
    member = Member(cluster, "filters-stable", "filters", 0)

    def names(*states: str, types: tuple[str, ...] = ()) -> set[str]:
        found = {each.group_id for each in list_groups(cluster, states, types)}
        return found & {"filters-empty", "filters-stable"}

    assert names() == {"filters-empty", "filters-stable"}
    assert names("Empty") == {"filters-empty"}
    assert names("Empty", "Stable") == {"filters-empty", "filters-stable"}
    assert names(types=("consumer",)) == set()
    assert names("Stable", types=("classic", "share")) == {"filters-stable"}
    member.leave()


def test_the_groups_of_all_brokers_in_order() -> None:
    with scripted_cluster(3) as script, script.client() as cluster:
        for number, names in {1: ("m", "c"), 2: ("b",), 3: ("z",)}.items():
            groups = [ListedGroup(group_id=name, group_state="Empty") for name in names]
            script.brokers[number].answers[ListGroupsRequest] = (
                lambda request, version, groups=groups: ListGroupsResponse(
                    groups=groups
                )
            )
        assert [each.group_id for each in list_groups(cluster)] == ["b", "c", "m", "z"]


def test_a_broker_that_still_loads_its_groups_is_waited_for() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        codes = iter([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2)
        script.script(
            ListGroupsRequest,
            lambda request, version: ListGroupsResponse(error_code=next(codes, 0)),
        )
        assert list_groups(cluster) == []
        assert len(script.time.pauses) == 2


@pytest.mark.parametrize(
    ("version", "filters", "what"),
    [(3, (["Empty"], ()), "state"), (4, ((), ["classic"]), "type")],
)
def test_a_broker_that_is_too_old_to_filter(
    version: int, filters: tuple[list[str], list[str]], what: str
) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(ListGroupsRequest, lambda *_: ListGroupsResponse())
        script.limit(ListGroupsRequest, version)
        assert list_groups(cluster) == []
        with pytest.raises(
            UnsupportedVersion, match=f"too old to list groups by {what}"
        ):
            list_groups(cluster, *filters)


def test_a_consumer_group_is_described_by_its_own_api() -> None:
    topic = ConsumerGroupTopicPartitions(topic_name="t", partitions=[3, 1])
    fewer = ConsumerGroupTopicPartitions(topic_name="t", partitions=[3])
    member = ConsumerGroupMember(
        member_id="m",
        instance_id="i",
        client_id="c",
        client_host="/h",
        member_epoch=6,
        assignment=ConsumerGroupAssignment(topic_partitions=[topic]),
        target_assignment=ConsumerGroupAssignment(topic_partitions=[fewer]),
    )
    described = DescribedConsumerGroup(
        group_id="g",
        group_state="Reconciling",
        group_epoch=7,
        assignor_name="uniform",
        members=[member],
    )
    with scripted_cluster() as script, script.client() as cluster:
        script.script(
            ConsumerGroupDescribeRequest,
            lambda *_: ConsumerGroupDescribeResponse(groups=[described]),
        )
        group = describe_group(cluster, "g")
    assert group[:5] == ("g", "Reconciling", "consumer", "consumer", "uniform")
    assert group.epoch == 7
    places = [("t", 1), ("t", 3)]
    assert group.members == [("m", "i", "c", "/h", places, 6, [("t", 3)], None)]


@pytest.mark.parametrize("version", [0, 5, 6])
def test_what_is_no_consumer_group_is_described_as_a_classic_one(version: int) -> None:
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    with scripted_cluster() as script, script.client() as cluster:
        script.script(
            ConsumerGroupDescribeRequest,
            lambda *_: ConsumerGroupDescribeResponse(
                groups=[DescribedConsumerGroup(group_id="g", error_code=missing)]
            ),
        )
        member = DescribedGroupMember(
            member_id="m",
            member_metadata=b"",
            member_assignment=b"\xff\xff" if version else b"",
        )
        described = DescribedGroup(
            group_id="g",
            group_state="Stable",
            protocol_type="consumer",
            members=[member],
        )
        script.script(
            DescribeGroupsRequest, lambda *_: DescribeGroupsResponse(groups=[described])
        )
        script.limit(DescribeGroupsRequest, version)
        group = describe_group(cluster, "g")
        assert group.group_type == "classic"
        # What cannot be read is not known; what is empty is nothing.
        assert group.members[0].assignment == (None if version else [])


@pytest.mark.parametrize("version", [0, 5, 6])
def test_a_group_that_is_not_there(version: int) -> None:
    dead = DescribedGroup(group_id="g", group_state="Dead")
    if version == 6:
        dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        dead.error_message = "Group g is not a classic group."
    with scripted_cluster() as script, script.client() as cluster:
        script.script(
            DescribeGroupsRequest, lambda *_: DescribeGroupsResponse(groups=[dead])
        )
        script.limit(DescribeGroupsRequest, version)
        with pytest.raises(GroupIdNotFound) as raised:
            describe_group(cluster, "g")
    expected = dead.error_message or "There is no such group."
    assert str(raised.value) == expected


def test_the_members_of_other_protocols_have_no_partitions() -> None:
    member = DescribedGroupMember(member_assignment=b"\0\0", member_metadata=b"")
    described = DescribedGroup(
        group_id="g", group_state="Stable", protocol_type="connect", members=[member]
    )
    with scripted_cluster() as script, script.client() as cluster:
        script.script(
            DescribeGroupsRequest,
            lambda *_: DescribeGroupsResponse(groups=[described]),
        )
        assert describe_group(cluster, "g").members[0].assignment is None


def test_a_group_is_deleted_at_the_coordinator_that_it_has_moved_to() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:

        def moved(request: DeleteGroupsRequest, version: int) -> DeleteGroupsResponse:
            script.coordinator = 2
            return answer(ErrorCode.NOT_COORDINATOR)

        def answer(code: int) -> DeleteGroupsResponse:
            result = DeletableGroupResult(group_id="g", error_code=code)
            return DeleteGroupsResponse(results=[result])

        script.brokers[1].answers[DeleteGroupsRequest] = moved
        script.brokers[2].answers[DeleteGroupsRequest] = lambda *_: answer(0)
        delete_group(cluster, "g")
        assert script.brokers[2].asked_for(DeleteGroupsRequest) == 1
