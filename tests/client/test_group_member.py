import threading
from collections.abc import Callable

import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_member import GroupMember
from odradek.client.groups import describe_group
from odradek.protocol.errors import (
    ErrorCode,
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.client.live import connected, create_topic, wait_until
from tests.fakes.scripted import scripted_cluster
from tests.patience import PATIENCE_S

SOON_S = 0.01


def places(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


class Other:
    """Another member, which works in a thread of its own until it is over."""

    def __init__(self, port: int, group: str, topic: str) -> None:
        self.assigned: list[TopicPartition] = []
        self._is_over = threading.Event()
        self._cluster = connected(port)
        self._member = GroupMember(self._cluster, group, [topic], heartbeat_s=SOON_S)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with self._cluster:
            self.assigned = self._member.join()
            while not self._is_over.wait(SOON_S):
                if not self._member.is_settled():
                    self.assigned = self._member.join()
            self._member.leave()

    def leave(self) -> None:
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def test_two_members_share_and_the_one_that_stays_has_all(
    broker: BrokerProcess, cluster: Cluster
) -> None:
    create_topic(cluster, "shared", 4)
    member = GroupMember(cluster, "sharing", ["shared"], heartbeat_s=SOON_S)
    assert member.join() == places("shared", 0, 1, 2, 3)
    assert member.is_settled()
    other = Other(broker.port, "sharing", "shared")
    wait_until(lambda: not member.is_settled())
    member.commit({TopicPartition("shared", 1): 0})  # while the group waits for us
    mine = member.join()
    wait_until(lambda: len(other.assigned) == 2)
    assert sorted(mine + other.assigned) == places("shared", 0, 1, 2, 3)
    other.leave()
    wait_until(lambda: not member.is_settled())
    assert member.join() == places("shared", 0, 1, 2, 3)
    assert list(member.committed()) == places("shared", 1)
    member.leave()
    assert describe_group(cluster, "sharing").state == "Empty"


def test_new_partitions_are_given_out_by_the_leader(cluster: Cluster) -> None:
    create_topic(cluster, "growing", 1)
    now_s = [100.0]
    member = GroupMember(
        cluster, "growing", ["growing", "not-there"], monotonic=lambda: now_s[0]
    )
    assert member.join() == places("growing", 0)
    more = CreatePartitionsTopic(name="growing", count=2, assignments=None)
    request = CreatePartitionsRequest(topics=[more], timeout_ms=10_000)
    assert not cluster.request(request, CreatePartitionsResponse).results[0].error_code
    assert member.is_settled()
    now_s[0] += 60
    assert not member.is_settled()
    assert member.join() == places("growing", 0, 1)
    now_s[0] += 60
    assert member.is_settled()
    member.leave()


def test_what_a_group_refuses(cluster: Cluster) -> None:
    create_topic(cluster, "refusing", 1)
    nameless = GroupMember(cluster, "", ["refusing"])
    with pytest.raises(InvalidGroupId):
        nameless.join()
    nameless.leave()
    member = GroupMember(cluster, "refusing", ["refusing"])
    member.join()
    with pytest.raises(UnknownTopicOrPartition, match="refusing-7"):
        member.commit({TopicPartition("refusing", 7): 1})
    member.generation_id += 1
    with pytest.raises(IllegalGeneration):
        member.commit({TopicPartition("refusing", 0): 1})
    member.generation_id -= 1
    known, member.member_id = member.member_id, "who"
    with pytest.raises(UnknownMemberId):
        member.commit({TopicPartition("refusing", 0): 1})
    member.member_id = known
    member.leave()


def join_answers(
    *codes: ErrorCode,
) -> Callable[[JoinGroupRequest, int], JoinGroupResponse]:
    rest = list(codes)

    def answer(asked: JoinGroupRequest, version: int) -> JoinGroupResponse:
        code = rest.pop(0) if rest else ErrorCode.NONE
        return JoinGroupResponse(
            error_code=code,
            member_id="m",
            generation_id=4,
            leader="somebody",
            protocol_name="range",
            members=[],
        )

    return answer


def test_who_is_forgotten_joins_as_somebody_new() -> None:
    passing = (
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.MEMBER_ID_REQUIRED,
    )
    with scripted_cluster() as script, script.client() as cluster:
        script.script(JoinGroupRequest, join_answers(*passing))
        synced = [
            SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS),
            SyncGroupResponse(),
        ]
        script.script(SyncGroupRequest, lambda asked, version: synced.pop(0))
        left: list[str] = []

        def leave(asked: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
            left.extend(each.member_id for each in asked.members)
            return LeaveGroupResponse(members=[])

        script.script(LeaveGroupRequest, leave)
        member = GroupMember(cluster, "g", ["t"])
        assert member.join() == []
        asked = [
            each.member_id
            for each in script.brokers[1].asked
            if isinstance(each, JoinGroupRequest)
        ]
        assert asked == ["", "m", "", "", "m", "m"]
        member.leave()
        member.leave()
        assert left == ["m"]


def test_no_protocol_in_common_is_an_error() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        refusal = join_answers(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        script.script(JoinGroupRequest, refusal)
        member = GroupMember(cluster, "g", ["t"])
        with pytest.raises(InconsistentGroupProtocol):
            member.join()
        member.leave()


def test_another_coordinator_is_found_and_the_member_stays() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.script(JoinGroupRequest, join_answers())
        script.script(SyncGroupRequest, lambda asked, version: SyncGroupResponse())
        script.script(HeartbeatRequest, lambda asked, version: HeartbeatResponse())
        moved = HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)
        script.brokers[1].answers[HeartbeatRequest] = lambda asked, version: moved
        member = GroupMember(cluster, "g", ["t"], heartbeat_s=SOON_S)
        member.join()
        script.coordinator = 2

        def is_moved() -> bool:
            assert member.is_settled()
            return script.brokers[2].asked_for(HeartbeatRequest) > 2

        wait_until(is_moved)
        member.leave()
