"""The quorum of the controllers: DescribeQuorum, AddRaftVoter, RemoveRaftVoter."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    since,
    string,
    uint16,
    uuid,
)
from odradek.protocol.uuids import ZERO_UUID


class QuorumPartition(Struct):
    """A partition of the metadata log: there is one, 0."""

    partition_index: int = int32()


class QuorumTopic(Struct):
    """The topic of the metadata log."""

    topic_name: str = string()
    partitions: list[QuorumPartition] = array()


class DescribeQuorumRequest(
    Request, api_key=ApiKey.DESCRIBE_QUORUM, versions=(0, 2), flexible=0
):
    """Show who holds the metadata log, and how far (KIP-595)."""

    topics: list[QuorumTopic] = array()


class ReplicaState(Struct):
    """A replica of the metadata log; -1 for what is not known."""

    replica_id: int = int32()
    replica_directory_id: bytes = uuid(versions=since(2), default=ZERO_UUID)
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64(versions=since(1), default=-1)
    last_caught_up_timestamp: int = int64(versions=since(1), default=-1)


class DescribedQuorumPartition(Struct):
    """The leader, those who vote, and those who only read."""

    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(versions=since(2), nullable=since(2))
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[ReplicaState] = array()
    observers: list[ReplicaState] = array()


class DescribedQuorumTopic(Struct):
    """The partitions of one topic."""

    topic_name: str = string()
    partitions: list[DescribedQuorumPartition] = array()


class QuorumListener(Struct):
    """Where a voter listens."""

    name: str = string()
    host: str = string()
    port: int = uint16()


class QuorumNode(Struct):
    """The addresses of a voter."""

    node_id: int = int32()
    listeners: list[QuorumListener] = array()


class DescribeQuorumResponse(
    Response, api_key=ApiKey.DESCRIBE_QUORUM, versions=(0, 2), flexible=0
):
    """The quorum. Version 2 has ids of directories and addresses (KIP-853)."""

    error_code: int = int16()
    error_message: str | None = string(versions=since(2), nullable=since(2))
    topics: list[DescribedQuorumTopic] = array()
    nodes: list[QuorumNode] = array(versions=since(2))


class AddRaftVoterRequest(
    Request, api_key=ApiKey.ADD_RAFT_VOTER, versions=(0, 1), flexible=0
):
    """Let a controller vote. Version 1 may be answered before that is committed."""

    cluster_id: str | None = string(nullable=True)
    timeout_ms: int = int32()
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    listeners: list[QuorumListener] = array()
    ack_when_committed: bool = boolean(versions=since(1), default=True)


class AddRaftVoterResponse(
    Response, api_key=ApiKey.ADD_RAFT_VOTER, versions=(0, 1), flexible=0
):
    """Whether it votes now."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class RemoveRaftVoterRequest(
    Request, api_key=ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), flexible=0
):
    """Let a controller vote no more."""

    cluster_id: str | None = string(nullable=True)
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()


class RemoveRaftVoterResponse(
    Response, api_key=ApiKey.REMOVE_RAFT_VOTER, versions=(0, 0), flexible=0
):
    """Whether it votes no more."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
