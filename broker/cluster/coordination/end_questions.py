"""ListOffsets as brokers ask it: where do readers see partitions end?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.topic_partition import TopicPartition

from .named_partitions import TOGETHER_MAX, by_topic

if TYPE_CHECKING:
    from collections.abc import Hashable

UNKNOWN: Final = -1
_AS_CLIENTS: Final = -1
_LATEST: Final = -1


class EndQuestions:
    """A `Kind`; a question is a partition, and its key."""

    response_class: Final = ListOffsetsResponse
    together_max: Final = TOGETHER_MAX

    def group_of(self, _: TopicPartition) -> Hashable:
        """They all go together."""
        return None

    def request(self, contents: list[TopicPartition]) -> ListOffsetsRequest:
        """All partitions in one request, which is a client's: no follower asks."""
        return ListOffsetsRequest(
            replica_id=_AS_CLIENTS,
            topics=[
                ListOffsetsTopic(
                    name=name,
                    partitions=[
                        ListOffsetsPartition(partition_index=number, timestamp=_LATEST)
                        for number in numbers
                    ],
                )
                for name, numbers in by_topic(contents).items()
            ],
        )

    def answers(self, response: ListOffsetsResponse) -> dict[Hashable, int]:
        """The ends; -1 where the broker does not say one."""
        return {
            TopicPartition(topic.name, each.partition_index): (
                UNKNOWN if each.error_code else each.offset
            )
            for topic in response.topics
            for each in topic.partitions
        }

    def told(self, _: TopicPartition, found: int | None) -> int:
        """The end; -1: nobody knows."""
        return UNKNOWN if found is None else found
