"""WriteTxnMarkers: the ends of transactions, for partitions that others lead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.txn_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .named_partitions import TOGETHER_MAX, by_topic, codes_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from odradek.broker.coordinator.transaction.marker_writer import Marker

    from .named_partitions import Codes


class AskedMarker(NamedTuple):
    """A marker, and where it goes. Its key is the id of the producer."""

    marker: Marker
    partitions: tuple[TopicPartition, ...]


class MarkerQuestions:
    """A `Kind`."""

    response_class: Final = WriteTxnMarkersResponse
    together_max: Final = TOGETHER_MAX
    unanswered: Final = ErrorCode.NETWORK_EXCEPTION

    def group_of(self, _: AskedMarker) -> Hashable:
        """They all go together."""
        return None

    def request(self, contents: list[AskedMarker]) -> WriteTxnMarkersRequest:
        """All markers in one request."""
        return WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=marker.producer.producer_id,
                    producer_epoch=marker.producer.producer_epoch,
                    transaction_result=marker.is_commit,
                    topics=[
                        WritableTxnMarkerTopic(name=name, partition_indexes=numbers)
                        for name, numbers in by_topic(partitions).items()
                    ],
                    coordinator_epoch=marker.coordinator_epoch,
                    transaction_version=marker.transaction_version,
                )
                for marker, partitions in contents
            ]
        )

    def answers(self, response: WriteTxnMarkersResponse) -> dict[Hashable, Codes]:
        """The error codes, by the id of the producer."""
        found: dict[Hashable, Codes] = {}
        for each in response.markers:
            codes = found.setdefault(each.producer_id, {})
            for topic in each.topics:
                for partition in topic.partitions:
                    place = TopicPartition(topic.name, partition.partition_index)
                    codes[place] = partition.error_code
        return found

    def told(self, content: AskedMarker, found: Codes | None) -> Codes:
        """The error code for each of its partitions."""
        return codes_of(content.partitions, found, self.unanswered)
