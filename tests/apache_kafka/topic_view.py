"""All that readers see of a topic, and of a group's offsets in it."""

from collections.abc import Mapping, Sequence
from typing import Any

from odradek.client.connection import Connection
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from odradek.protocol.record_batch import scan


class TopicView:
    """One topic; producers are called by ``names``, for their ids are each broker's."""

    def __init__(
        self, connection: Connection, topic: str, names: Mapping[int, str]
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._names = names

    def read(self, index: int, isolation_level: int) -> tuple[Any, ...]:
        """The offsets of a partition, its batches, and what is to be left out."""
        place = FetchPartition(
            partition=index, fetch_offset=0, partition_max_bytes=1 << 20
        )
        asked = FetchRequest(
            max_wait_ms=0,
            max_bytes=1 << 20,
            isolation_level=isolation_level,
            topics=[FetchTopic(topic=self._topic, partitions=[place])],
        )
        (topic,) = self._connection.request(asked, FetchResponse, 12).responses
        (data,) = topic.partitions
        headers = [header for _, header in scan(bytes(data.records or b""))]
        end = headers[-1].next_offset if headers else 0
        aborted = [
            (each.first_offset, self._names.get(each.producer_id))
            for each in data.aborted_transactions or []
            if each.first_offset < end  # Apache Kafka names later ones too
        ]
        return (
            data.error_code,
            data.high_watermark,
            data.last_stable_offset,
            [
                (each.base_offset, each.attributes, each.producer_epoch)
                for each in headers
            ],
            sorted(aborted),
        )

    def latest(self, index: int, isolation_level: int) -> int:
        """The end of a partition, as ListOffsets says it."""
        place = ListOffsetsPartition(
            partition_index=index, timestamp=-1, current_leader_epoch=-1
        )
        asked = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=self._topic, partitions=[place])],
        )
        (topic,) = self._connection.request(asked, ListOffsetsResponse, 7).topics
        return topic.partitions[0].offset

    def committed_offsets(
        self, group_id: str, indexes: Sequence[int], is_stable: bool
    ) -> list[tuple[int, int]]:
        """The offsets of a group, with the error codes."""
        topic = OffsetFetchRequestTopic(
            name=self._topic, partition_indexes=list(indexes)
        )
        asked = OffsetFetchRequest(
            group_id=group_id, topics=[topic], require_stable=is_stable
        )
        (found,) = self._connection.request(asked, OffsetFetchResponse, 7).topics
        return [(each.committed_offset, each.error_code) for each in found.partitions]
