"""What a follower asks its leader: records, and where the log begins and ends there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.client.errors import raise_for
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from odradek.protocol.messages.list_offsets import ListOffsetsResponse

    from .fetch_session_handler import SessionRequest
    from .fetch_settings import FetchSettings

_EARLIEST: Final = -2
_LATEST: Final = -1


class Asked(NamedTuple):
    """What is asked of one partition."""

    topic: str
    topic_id: bytes
    partition: int
    leader_epoch: int
    offset: int
    last_epoch: int
    log_start_offset: int
    size_max: int


def fetch_request(
    node_id: int, broker_epoch: int, said: SessionRequest, settings: FetchSettings
) -> FetchRequest:
    """For records of these, in their order: an answer has only room for some."""
    topics: dict[bytes, FetchTopic] = {}
    for each in said.named:
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
    forgotten: dict[bytes, ForgottenTopic] = {}
    for topic_id, partition in said.forgotten:
        known = forgotten.setdefault(topic_id, ForgottenTopic(topic_id=topic_id))
        known.partitions.append(partition)
    return FetchRequest(
        replica_id=node_id,
        replica_state=ReplicaState(replica_id=node_id, replica_epoch=broker_epoch),
        max_wait_ms=settings.wait_ms_max,
        min_bytes=settings.size_min,
        max_bytes=settings.response_size_max,
        session_id=said.session_id,
        session_epoch=said.epoch,
        topics=list(topics.values()),
        forgotten_topics_data=list(forgotten.values()),
    )


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
