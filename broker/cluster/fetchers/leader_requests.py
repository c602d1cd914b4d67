"""What a follower asks its leader: records, and where the log begins and ends there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.client.errors import raise_for
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ReplicaState,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.messages.fetch import FetchResponse, PartitionData
    from odradek.protocol.messages.list_offsets import ListOffsetsResponse

    from .followed_partition import Asked

MAX_WAIT_MS: Final = 500  # replica.fetch.wait.max.ms
_SIZE_MAX: Final = 10 << 20  # replica.fetch.response.max.bytes
_EARLIEST: Final = -2
_LATEST: Final = -1


def fetch_request(
    node_id: int, broker_epoch: int, asked: Iterable[Asked]
) -> FetchRequest:
    """For records of these, in their order: an answer has only room for some."""
    topics: dict[bytes, FetchTopic] = {}
    for each in asked:
        topic = topics.get(each.topic_id)
        if topic is None:
            topic = FetchTopic(topic=each.topic, topic_id=each.topic_id)
            topics[each.topic_id] = topic
        topic.partitions.append(
            FetchPartition(
                partition=each.partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_epoch,
                log_start_offset=each.log_start_offset,
                partition_max_bytes=each.size_max,
            )
        )
    return FetchRequest(
        replica_id=node_id,
        replica_state=ReplicaState(replica_id=node_id, replica_epoch=broker_epoch),
        max_wait_ms=MAX_WAIT_MS,
        min_bytes=1,
        max_bytes=_SIZE_MAX,
        topics=list(topics.values()),
    )


def answers_of(response: FetchResponse) -> dict[tuple[bytes, int], PartitionData]:
    """By topic id and partition.

    Raises:
        KafkaError: there is none.
    """
    raise_for(response.error_code)
    return {
        (bytes(topic.topic_id), each.partition_index): each
        for topic in response.responses
        for each in topic.partitions
    }


def end_request(node_id: int, asked: Asked, *, is_start: bool) -> ListOffsetsRequest:
    """For the end of a leader's log, whatever is committed of it, or its start."""
    partition = ListOffsetsPartition(
        partition_index=asked.partition,
        current_leader_epoch=asked.leader_epoch,
        timestamp=_EARLIEST if is_start else _LATEST,
    )
    return ListOffsetsRequest(
        replica_id=node_id,
        topics=[ListOffsetsTopic(name=asked.topic, partitions=[partition])],
    )


def end_of(response: ListOffsetsResponse) -> int:
    """The offset that was asked for.

    Raises:
        KafkaError: the leader does not say.
    """
    for topic in response.topics:
        for each in topic.partitions:
            raise_for(each.error_code)
            return each.offset
    raise UnknownTopicOrPartition
