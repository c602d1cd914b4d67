"""What a cluster consists of: brokers, and topics with the leaders of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import LeaderNotAvailable, UnknownTopicOrPartition
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

from .address import Address
from .errors import error_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

NO_LEADER = -1


class Broker(NamedTuple):
    """A broker, and where it says clients should connect to."""

    node_id: int
    address: Address

    def __str__(self) -> str:
        return f"{self.node_id} ({self.address})"


class Topic(NamedTuple):
    """A topic; ``leaders`` has the node id for each partition, -1 for none."""

    name: str
    topic_id: bytes
    leaders: Mapping[int, int]

    def lacks(self, partition: int) -> str:
        """A sentence for who asked for a partition that it does not have."""
        numbers = sorted(self.leaders)
        there = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else "0"
        return f"Topic {self.name} has no partition {partition}, only {there}."


class Metadata(NamedTuple):
    """A cluster as one broker saw it; ``failed`` are topics that were asked for.

    ``cluster_id`` is None where the broker does not say it.
    """

    brokers: Mapping[int, Broker]
    topics: Mapping[str, Topic]
    failed: Mapping[str, KafkaError]
    cluster_id: str | None = None

    def leader_of(self, place: TopicPartition) -> int:
        """The node id of a partition's leader.

        Raises:
            LeaderNotAvailable: it has none.
            KafkaError: there is no such partition, or none that we may see.
        """
        topic = self.topics.get(place.topic)
        if topic is None or place.partition not in topic.leaders:
            raise self.failed.get(place.topic) or UnknownTopicOrPartition()
        leader = topic.leaders[place.partition]
        if leader == NO_LEADER:
            raise LeaderNotAvailable
        return leader


def metadata_request(
    topics: Collection[str] | None, *, creates_topics: bool = False
) -> MetadataRequest:
    """Ask for these topics, for all when None; none is made by asking, unless said."""
    return MetadataRequest(
        topics=None
        if topics is None
        else [MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=creates_topics,
    )


def read_metadata(response: MetadataResponse) -> Metadata:
    """The answer, by names and numbers."""
    topics: dict[str, Topic] = {}
    failed: dict[str, KafkaError] = {}
    for topic in response.topics:
        name = topic.name or ""
        if topic.error_code:
            failed[name] = error_of(topic.error_code)
            continue
        leaders = {each.partition_index: each.leader_id for each in topic.partitions}
        topics[name] = Topic(name, topic.topic_id, dict(sorted(leaders.items())))
    brokers = {
        each.node_id: Broker(each.node_id, Address(each.host, each.port))
        for each in response.brokers
    }
    return Metadata(brokers, topics, failed, response.cluster_id)
