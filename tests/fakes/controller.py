"""Controllers of a quorum as an observer meets them: a log in memory for each."""

from collections.abc import Iterable
from typing import Any

from odradek.broker.quorum.observer import METADATA_TOPIC, METADATA_TOPIC_ID
from odradek.client.address import Address
from odradek.protocol.control_records import ControlType, encode_key
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from odradek.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    SnapshotId,
)
from odradek.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PartitionSnapshotPiece,
    SnapshotEndpoint,
    SnapshotLeader,
    TopicSnapshotPiece,
    WantedSnapshotId,
)
from odradek.protocol.metadata_records import encode_metadata_record
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Message, Request


def batch_of(messages: Iterable[Message], base_offset: int, epoch: int) -> bytes:
    """A batch of metadata records."""
    records = [NewRecord(None, encode_metadata_record(each), 1) for each in messages]
    return bytes(build_batch(records, base_offset=base_offset, leader_epoch=epoch))


def snapshot_of(messages: Iterable[Message], *, has_footer: bool = True) -> bytes:
    """A snapshot: its offsets begin at 0."""
    header = NewRecord(encode_key(ControlType.SNAPSHOT_HEADER), b"", 1)
    footer = NewRecord(encode_key(ControlType.SNAPSHOT_FOOTER), b"", 1)
    data = [NewRecord(None, encode_metadata_record(each), 1) for each in messages]
    batches = [build_batch([header], is_control=True, base_offset=0)]
    if data:
        batches.append(build_batch(data, base_offset=1))
    if has_footer:
        end = 1 + len(data)
        batches.append(build_batch([footer], is_control=True, base_offset=end))
    return b"".join(map(bytes, batches))


class FakeController:
    """One controller: its log, and whom it takes for the leader."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.address = Address(f"controller-{node_id}", 9093)
        self.is_alive = True
        self.leader_id, self.epoch = -1, 0
        self.high_watermark = -1
        self.batches: list[bytes] = []
        self.snapshot = b""
        self.snapshot_id = (-1, -1)
        self.piece_size = 1 << 20
        self.names_leader = True

    @property
    def end_offset(self) -> int:
        if not self.batches:
            return max(0, self.snapshot_id[0])
        return read_header(self.batches[-1]).next_offset

    def write(self, *messages: Message) -> None:
        self.batches.append(batch_of(messages, self.end_offset, self.epoch))

    def commit(self) -> None:
        self.high_watermark = self.end_offset

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The last epoch up to that one, and where it ends."""
        found = (0, 0) if self.snapshot_id[0] < 0 else self.snapshot_id[::-1]
        for batch in self.batches:
            header = read_header(batch)
            if header.partition_leader_epoch <= epoch:
                found = header.partition_leader_epoch, header.next_offset
        return found


class FakeQuorum:
    """Some controllers. Time passes while somebody sleeps, or nobody answers."""

    def __init__(self, count: int = 3) -> None:
        self.nodes = [FakeController(node_id) for node_id in range(1, count + 1)]
        self.asked: list[tuple[int, Request]] = []
        self.now_s = 1000.0

    def lead(self, leader: FakeController, epoch: int) -> None:
        """All who are alive know the leader."""
        for node in self.nodes:
            if node.is_alive:
                node.leader_id, node.epoch = leader.node_id, epoch

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, wait_s: float) -> None:
        self.now_s += wait_s

    def connect(self, address: Address) -> Any:
        node = next(each for each in self.nodes if each.address == address)
        if not node.is_alive:
            self.now_s += 0.1
            raise ConnectionRefusedError(111, "Connection refused")
        return FakeLink(self, node)

    def answer(self, node: FakeController, request: Any) -> Any:
        if not node.is_alive:
            raise ConnectionResetError(104, "Connection reset by peer")
        self.asked.append((node.node_id, request))
        if isinstance(request, FetchSnapshotRequest):
            return self._piece(node, request)
        assert isinstance(request, FetchRequest)
        return self._fetched(node, request)

    def _refusal(self, node: FakeController, epoch: int) -> ErrorCode:
        if epoch > node.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if node.leader_id != node.node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if epoch < node.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.NONE

    def _fetched(self, node: FakeController, request: FetchRequest) -> FetchResponse:
        (asked,) = request.topics[0].partitions
        data = PartitionData(
            error_code=self._refusal(node, asked.current_leader_epoch),
            current_leader=LeaderIdAndEpoch(
                leader_id=node.leader_id, leader_epoch=node.epoch
            ),
            high_watermark=-1,
            aborted_transactions=[],
            records=b"",
        )
        if not data.error_code:
            data.high_watermark = node.high_watermark
            self._fill(node, data, asked.fetch_offset, asked.last_fetched_epoch)
        topic = FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])
        endpoints = [
            NodeEndpoint(node_id=each.node_id, host=each.address.host, port=9093)
            for each in self.nodes
            if each.node_id == node.leader_id and node.names_leader
        ]
        return FetchResponse(responses=[topic], node_endpoints=endpoints)

    def _fill(
        self, node: FakeController, data: PartitionData, offset: int, epoch: int
    ) -> None:
        if offset < node.snapshot_id[0]:
            end_offset, of_epoch = node.snapshot_id
            data.snapshot_id = SnapshotId(end_offset=end_offset, epoch=of_epoch)
            return
        last, end = node.end_of(epoch)
        if last != epoch or end < offset:
            data.diverging_epoch = EpochEndOffset(epoch=last, end_offset=end)
            return
        data.records = b"".join(
            batch for batch in node.batches if read_header(batch).base_offset >= offset
        )

    def _piece(
        self, node: FakeController, request: FetchSnapshotRequest
    ) -> FetchSnapshotResponse:
        (asked,) = request.topics[0].partitions
        if (asked.snapshot_id.end_offset, asked.snapshot_id.epoch) != node.snapshot_id:
            return FetchSnapshotResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
        code = self._refusal(node, asked.current_leader_epoch)
        end = asked.position + min(node.piece_size, request.max_bytes)
        piece = PartitionSnapshotPiece(
            error_code=code,
            snapshot_id=WantedSnapshotId(
                end_offset=node.snapshot_id[0], epoch=node.snapshot_id[1]
            ),
            current_leader=SnapshotLeader(
                leader_id=node.leader_id, leader_epoch=node.epoch
            ),
            size=len(node.snapshot),
            position=asked.position,
            unaligned_records=b"" if code else node.snapshot[asked.position : end],
        )
        topic = TopicSnapshotPiece(name=METADATA_TOPIC, partitions=[piece])
        endpoints = [
            SnapshotEndpoint(node_id=each.node_id, host=each.address.host, port=9093)
            for each in self.nodes
            if each.node_id == node.leader_id
        ]
        return FetchSnapshotResponse(topics=[topic], node_endpoints=endpoints)


class FakeLink:
    """A connection to one of them."""

    def __init__(self, quorum: FakeQuorum, node: FakeController) -> None:
        self._quorum, self._node = quorum, node

    def request(self, request: Any, _response_class: Any) -> Any:
        return self._quorum.answer(self._node, request)

    def wait_for(self, timeout_s: float) -> None:
        pass

    def close(self) -> None:
        pass
