"""What tests put into a running broker: topics, records, members of groups."""

import time
from collections.abc import Callable, Sequence

from odradek.client.address import Address, parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.errors import raise_for
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartition,
)
from odradek.protocol.errors import ErrorCode, RetriableError
from odradek.protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.testing import Broker
from tests.patience import PATIENCE_S

VERSION = b"\0\0"


def connected(port: int) -> Cluster:
    return Cluster([Address("127.0.0.1", port)], timeout_s=PATIENCE_S)


def connected_to(broker: Broker) -> Cluster:
    """The same for a broker of the plugin."""
    return Cluster(parse_addresses(broker.bootstrap), timeout_s=PATIENCE_S)


def wait_until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Return when it is true, which it will be soon."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def create_topic(cluster: Cluster, name: str, partitions: int) -> None:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=PATIENCE_S * 1000)
    answer = cluster.request(request, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0, answer


def produce(
    cluster: Cluster, topic: str, partition: int, times_ms: Sequence[int]
) -> None:
    """One record for each time."""
    records = [NewRecord(b"key", b"value", timestamp) for timestamp in times_ms]
    data = PartitionProduceData(index=partition, records=build_batch(records))
    request = ProduceRequest(
        acks=-1,
        timeout_ms=PATIENCE_S * 1000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )

    def send() -> None:
        answer = cluster.request(request, ProduceResponse, version_max=12)
        raise_for(answer.responses[0].partition_responses[0].error_code)

    # Apache Kafka has no leader yet when it has answered for a new topic.
    cluster.retry.run(send, lambda error: isinstance(error, RetriableError))


def settle(cluster: Cluster, topic: str) -> None:
    """Wait until no transaction is open: its end is answered before it is written."""
    numbers = cluster.metadata([topic]).topics[topic].leaders
    wanted = {TopicPartition(topic, number): LATEST for number in numbers}
    wait_until(
        lambda: (
            list_offsets(cluster, wanted, committed=True)
            == list_offsets(cluster, wanted)
        )
    )


class Member:
    """The only member of a group, which has the partitions that it asks for."""

    def __init__(self, cluster: Cluster, group: str, topic: str, *numbers: int) -> None:
        self._cluster = cluster
        self._group = group
        self._node_id = cluster.coordinator(group).node_id
        subscription = ConsumerProtocolSubscription(topics=[topic])
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(
                    name="range", metadata=VERSION + subscription.encode(0)
                )
            ],
        )
        joined = self._join(request)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = joined.member_id
            joined = self._join(request)
        assert joined.error_code == 0, joined
        self.member_id = joined.member_id
        self._sync(joined.generation_id, topic, numbers)

    def _join(self, request: JoinGroupRequest) -> JoinGroupResponse:
        return self._cluster.request(request, JoinGroupResponse, self._node_id)

    def _sync(self, generation: int, topic: str, numbers: Sequence[int]) -> None:
        owned = [OwnedPartition(topic=topic, partitions=list(numbers))]
        assignment = ConsumerProtocolAssignment(assigned_partitions=owned)
        given = SyncGroupRequestAssignment(
            member_id=self.member_id, assignment=VERSION + assignment.encode(0)
        )
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[given],
        )
        answer = self._cluster.request(request, SyncGroupResponse, self._node_id)
        assert answer.error_code == 0, answer

    def leave(self) -> None:
        leaver = MemberIdentity(member_id=self.member_id)
        request = LeaveGroupRequest(group_id=self._group, members=[leaver])
        answer = self._cluster.request(request, LeaveGroupResponse, self._node_id)
        assert answer.error_code == 0, answer
