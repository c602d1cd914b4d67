"""ElectLeaders: choose the leaders of partitions anew (KIP-183, KIP-460)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    since,
    string,
)


class TopicPartitions(Struct):
    """The partitions of one topic that get another leader."""

    topic: str = string()
    partitions: list[int] = array(of=int32)


class ElectLeadersRequest(
    Request, api_key=ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2
):
    """Elect the preferred leaders (type 0) or any (1); null means everywhere."""

    election_type: int = int8(versions=since(1))
    topic_partitions: list[TopicPartitions] | None = array(nullable=True)
    timeout_ms: int = int32(default=60_000)


class PartitionResult(Struct):
    """Whether one partition has a new leader."""

    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class ReplicaElectionResult(Struct):
    """The partitions of one topic."""

    topic: str = string()
    partition_result: list[PartitionResult] = array()


class ElectLeadersResponse(
    Response, api_key=ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2
):
    """One answer for each partition that was named."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions=since(1))
    replica_election_results: list[ReplicaElectionResult] = array()
