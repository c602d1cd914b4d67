"""A topic has so many records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.control.reading import count_records
from odradek.broker.control.topics import missing_topic
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.requests.services import Services


class _Counted(NamedTuple):
    """How many records were counted in a partition of a topic, and up to where."""

    topic_id: bytes
    end: int
    records: int


class HasRecords:
    """A topic, or one of its partitions, has so many records for committed readers.

    Each is counted once: what comes is counted from where the last count ended.
    """

    def __init__(
        self, services: Services, topic: str, count: int, partition: int | None
    ) -> None:
        self._services = services
        self._topic = topic
        self._count = count
        self._partition = partition
        self._counted: dict[TopicPartition, _Counted] = {}

    def end(self) -> None:
        """Nothing is held."""

    def places(self) -> list[TopicPartition]:
        """The partitions that there are."""
        topic = self._services.metadata.get(self._topic)
        numbers = range(0 if topic is None else len(topic.partitions))
        return [
            TopicPartition(self._topic, number)
            for number in numbers
            if self._partition in (None, number)
        ]

    def missing(self) -> str:
        """How many there are instead, and what is in open transactions."""
        if self._services.metadata.get(self._topic) is None:
            return missing_topic(self._services, self._topic)
        places = self.places()
        if not places:
            return f"{self._topic} has no partition {self._partition}"
        partitions = [self._services.replica_manager.partition(each) for each in places]
        total = sum(map(self._count_of, partitions))
        if total >= self._count:
            return ""
        what = self._topic if self._partition is None else places[0]
        text = f"{what} has {total} of {self._count} records"
        waiting = sum(
            each.view.high_watermark - each.view.last_stable_offset
            for each in partitions
        )
        return f"{text}, and {waiting} behind an open transaction" if waiting else text

    def _count_of(self, partition: Partition) -> int:
        place, view = partition.topic_partition, partition.view
        known = self._counted.get(place)
        if known is None or known.topic_id != partition.topic_id:
            known = _Counted(partition.topic_id, 0, 0)
        end = view.last_stable_offset
        if end > known.end:
            counted = known.records + count_records(view, known.end, end)
            known = self._counted[place] = known._replace(end=end, records=counted)
        return known.records
