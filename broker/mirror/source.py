"""The other cluster, as a mirror asks it. Blocking: each one has a thread to itself.

It is asked as any consumer would: with topic ids and the epoch of the last batch, so
that a topic which was made anew, or a log which lost its end, is never taken for the
one before.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.configs import ConfigSource
from odradek.client.errors import raise_for
from odradek.client.group_offsets import committed_offsets
from odradek.client.groups import SHARE, list_groups
from odradek.client.list_offsets import EARLIEST, LATEST, list_offsets
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.uuids import ZERO_UUID

from .settings import may_be_mirrored

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from odradek.client.cluster import Cluster
    from odradek.client.group_offsets import CommittedOffset
    from odradek.protocol.messages.fetch import PartitionData
    from odradek.protocol.topic_partition import TopicPartition

    from .settings import MirrorSettings

FIRST_VERSION_WITH_TOPIC_IDS = 13
MAX_WAIT_MS = 500
ANSWER_SIZE_MAX = 16 << 20
_TOPIC = 2

GroupOffsets = dict[str, dict["TopicPartition", "CommittedOffset"]]


class SourceTopic(NamedTuple):
    """A topic there: its id, who leads its partitions, and the options it sets.

    No options (None): the mirror's user may not see them.
    """

    name: str
    topic_id: bytes
    leaders: Mapping[int, int]
    options: Mapping[str, str] | None


class SourceView(NamedTuple):
    """The other cluster, and those of its topics that are wanted."""

    cluster_id: str
    topics: dict[str, SourceTopic]


class Wanted(NamedTuple):
    """A partition, from where on, and the epoch of the batch before; -1 for none."""

    topic_id: bytes
    partition: int
    offset: int
    last_epoch: int
    size_max: int


class Source:
    """The cluster of one mirror."""

    def __init__(self, settings: MirrorSettings) -> None:
        self._settings = settings
        self._cluster: Cluster | None = None

    @property
    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._settings.connect()
        return self._cluster

    @property
    def is_connected(self) -> bool:
        """Whether something was asked since it was closed."""
        return self._cluster is not None

    def close(self) -> None:
        """Hang up; what is asked next connects anew."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()

    def look(self) -> SourceView:
        """What there is.

        Raises:
            UnsupportedVersion: its brokers know no topic ids.
            KafkaError, OSError, ValueError: it cannot be asked.
        """
        cluster = self._connected
        metadata = cluster.metadata()
        pattern = self._settings.pattern
        names = [
            name
            for name in metadata.topics
            if may_be_mirrored(name) and pattern.fullmatch(name)
        ]
        if any(metadata.topics[name].topic_id == ZERO_UUID for name in names):
            raise UnsupportedVersion(
                "its topics have no ids: a mirror needs Apache Kafka 3.1 or newer"
            )
        options = self._options(cluster, names)
        return SourceView(
            metadata.cluster_id or "",
            {
                name: SourceTopic(*metadata.topics[name], options[name])
                for name in names
                if name in options
            },
        )

    def _options(
        self, cluster: Cluster, names: Collection[str]
    ) -> dict[str, dict[str, str] | None]:
        """What topics set themselves; without one that is gone."""
        if not names:
            return {}
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(
                    resource_type=_TOPIC, resource_name=name, configuration_keys=None
                )
                for name in names
            ]
        )
        found: dict[str, dict[str, str] | None] = {}
        for result in cluster.request(request, DescribeConfigsResponse).results:
            if result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                found[result.resource_name] = None
                continue
            with suppress(UnknownTopicOrPartition):
                raise_for(result.error_code, result.error_message)
                found[result.resource_name] = {
                    each.name: each.value
                    for each in result.configs
                    if each.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG
                    and each.value is not None
                }
        return found

    def fetch(
        self, node_id: int, wanted: Sequence[Wanted]
    ) -> dict[tuple[bytes, int], PartitionData]:
        """What a leader answers of each, by topic id and partition.

        Raises:
            KafkaError, OSError, ValueError: it cannot be asked.
        """
        cluster = self._connected
        if cluster.version_of(FetchRequest(), node_id) < FIRST_VERSION_WITH_TOPIC_IDS:
            raise UnsupportedVersion(
                "its brokers fetch by no topic ids: a mirror needs Apache Kafka 3.1 or"
                " newer"
            )
        topics: dict[bytes, list[FetchPartition]] = {}
        for each in wanted:
            asked = FetchPartition(
                partition=each.partition,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_epoch,
                partition_max_bytes=each.size_max,
            )
            topics.setdefault(each.topic_id, []).append(asked)
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=ANSWER_SIZE_MAX,
            topics=[
                FetchTopic(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )
        response = cluster.request(request, FetchResponse, node_id)
        raise_for(response.error_code)
        return {
            (bytes(topic.topic_id), each.partition_index): each
            for topic in response.responses
            for each in topic.partitions
        }

    def find_brokers(self) -> None:
        """Ask where the brokers are, which a connection has to know to ask leaders.

        Raises:
            KafkaError, OSError, ValueError: it cannot be asked.
        """
        self._connected.metadata(())

    def ends(
        self, places: Collection[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Where partitions begin and end, as far as consumers see them.

        Raises:
            KafkaError, OSError, ValueError: not all can be told.
        """
        cluster = self._connected
        first = list_offsets(cluster, dict.fromkeys(places, EARLIEST))
        last = list_offsets(cluster, dict.fromkeys(places, LATEST))
        for error in (*first.failed.values(), *last.failed.values()):
            raise error
        return {
            place: (first.found[place].offset, last.found[place].offset)
            for place in places
        }

    def group_offsets(self) -> GroupOffsets:
        """What groups have committed, without those that cannot be told now.

        Raises:
            KafkaError, OSError, ValueError: it cannot be asked.
        """
        cluster = self._connected
        found: GroupOffsets = {}
        for group in list_groups(cluster):
            if group.group_type == SHARE:
                continue
            with suppress(KafkaError):
                found[group.group_id] = committed_offsets(cluster, group.group_id)
        return found
