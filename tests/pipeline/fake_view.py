"""Logs that a test makes up, as a plan sees them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from odradek.pipeline.errors import SourceError
from odradek.pipeline.source.log_view import LogEnd, TopicView
from odradek.protocol.topic_partition import TopicPartition


@dataclass
class FakeView:
    """Each partition with where it begins and ends; times with their offsets."""

    logs: dict[TopicPartition, tuple[int, int]]
    since: dict[tuple[TopicPartition, int], int] = field(default_factory=dict)
    topic_id: bytes = b"\1" * 16
    sizes: dict[TopicPartition, float] = field(default_factory=dict)

    def topics(self, names: Collection[str] | None) -> Mapping[str, TopicView]:
        found: dict[str, list[int]] = {}
        for topic, number in self.logs:
            found.setdefault(topic, []).append(number)
        for name in names or ():
            if name not in found:
                raise SourceError(f"There is no topic {name}.")
        return {
            name: TopicView(self.topic_id, numbers)
            for name, numbers in found.items()
            if names is None or name in names
        }

    def starts(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        return {place: self.logs[place][0] for place in places}

    def ends(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, LogEnd]:
        return {place: LogEnd(self.logs[place][1], 3) for place in places}

    def bytes_per_offset(
        self, places: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, float]:
        return {place: self.sizes[place] for place in places if place in self.sizes}

    def offsets_since(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        return {place: self.since.get((place, ms)) for place, ms in times_ms.items()}
