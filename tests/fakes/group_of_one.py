"""A cluster in memory with one topic and one group, for a member that is interrupted.

It answers in the thread that asks, so a member can be stopped at each of its lines,
and nothing ever waits.
"""

from typing import TYPE_CHECKING, Any

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.retry import Retry
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from odradek.protocol.record_batch import stamp
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request, Response
from tests.fakes.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC, MEMBER, COUNT = "t", "member", 3
_EARLIEST = -2


class GroupOfOne:
    """Topic t has `COUNT` records, each in a batch; ``members`` are in the group.

    ``committed`` is what was committed at last. A member is told its id before it may
    join, as by Apache Kafka.
    """

    def __init__(self) -> None:
        self.members: set[str] = set()
        self.committed = -1
        self.asked: list[str] = []
        self._protocol: Any = None
        self._assignment: Any = b""
        self._answers: dict[type[Request], Callable[[Any], Response]] = {
            MetadataRequest: self._metadata,
            FindCoordinatorRequest: self._find,
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            LeaveGroupRequest: self._leave,
            OffsetFetchRequest: self._offsets,
            OffsetCommitRequest: self._commit,
            ListOffsetsRequest: self._list,
            FetchRequest: self._fetch,
        }

    def cluster(self) -> "InMemoryCluster":
        """A client of it, with a clock that its waiting moves."""
        return InMemoryCluster(self)

    def answer(self, request: Request) -> Response:
        self.asked.append(type(request).__name__)
        return self._answers[type(request)](request)

    def _metadata(self, asked: MetadataRequest) -> Response:
        partition = MetadataResponsePartition(partition_index=0, leader_id=1)
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)],
            topics=[MetadataResponseTopic(name=TOPIC, partitions=[partition])],
        )

    def _find(self, asked: FindCoordinatorRequest) -> Response:
        found = Coordinator(key=asked.coordinator_keys[0], node_id=1, host="h", port=1)
        return FindCoordinatorResponse(coordinators=[found])

    def _join(self, asked: JoinGroupRequest) -> Response:
        if not asked.member_id:
            required = ErrorCode.MEMBER_ID_REQUIRED
            return JoinGroupResponse(error_code=required, member_id=MEMBER)
        self.members.add(asked.member_id)
        (first, *_) = asked.protocols
        member = JoinGroupResponseMember(member_id=MEMBER, metadata=first.metadata)
        return JoinGroupResponse(
            generation_id=1,
            protocol_name=first.name,
            leader=MEMBER,
            member_id=MEMBER,
            members=[member],
        )

    def _sync(self, asked: SyncGroupRequest) -> Response:
        return SyncGroupResponse(assignment=asked.assignments[0].assignment)

    def _leave(self, asked: LeaveGroupRequest) -> Response:
        self.members.difference_update(each.member_id for each in asked.members)
        return LeaveGroupResponse()

    def _offsets(self, asked: OffsetFetchRequest) -> Response:
        group = OffsetFetchResponseGroup(group_id=asked.groups[0].group_id)
        return OffsetFetchResponse(groups=[group])

    def _commit(self, asked: OffsetCommitRequest) -> Response:
        self.committed = asked.topics[0].partitions[0].committed_offset
        return OffsetCommitResponse()

    def _list(self, asked: ListOffsetsRequest) -> Response:
        (wanted,) = asked.topics[0].partitions
        offset = 0 if wanted.timestamp == _EARLIEST else COUNT
        partition = ListOffsetsPartitionResponse(partition_index=0, offset=offset)
        topic = ListOffsetsTopicResponse(name=TOPIC, partitions=[partition])
        return ListOffsetsResponse(topics=[topic])

    def _fetch(self, asked: FetchRequest) -> Response:
        offset = asked.topics[0].partitions[0].fetch_offset
        records = b""
        if offset < COUNT:
            batch = build_batch([NewRecord(b"k", b"%d" % offset, 1)])
            stamp(batch, offset, 0)
            records = bytes(batch)
        partition = PartitionData(
            partition_index=0, high_watermark=COUNT, records=records
        )
        topic = FetchableTopicResponse(topic=TOPIC, partitions=[partition])
        return FetchResponse(responses=[topic])


class InMemoryCluster(Cluster):
    """A `Cluster` whose connections lead to a `GroupOfOne`."""

    def __init__(self, group: GroupOfOne) -> None:
        time = Waiting()
        retry = Retry(5, time.monotonic, time.sleep)
        super().__init__([Address("h", 1)], timeout_s=5, retry=retry)
        self._group = group

    def _open(self, address: Address) -> Any:
        return _Connection(self._group)


class _Connection:
    def __init__(self, group: GroupOfOne) -> None:
        self._group = group
        self._pending: list[tuple[int, Response]] = []
        self._sent_count = 0

    def version_of(self, request: Request, version_max: int | None = None) -> int:
        return 0

    def wait_for(self, timeout_s: float) -> None:
        """Nothing waits."""

    def send(self, request: Request, version: int) -> int:
        self._sent_count += 1
        self._pending.append((self._sent_count, self._group.answer(request)))
        return self._sent_count

    def receive_answer(self, correlation_id: int, kind: Any, version: int) -> Any:
        answered_id, response = self._pending.pop(0)
        if answered_id != correlation_id:
            raise ConnectionError("the answer to something else")
        return response

    def request(self, request: Request, kind: Any, version: int | None = None) -> Any:
        return self.receive_answer(self.send(request, 0), kind, 0)

    def close(self) -> None:
        """Nobody is there."""
