"""How far a stream has come, as Spark keeps it in the checkpoint.

The form is that of Spark's Kafka connector, ``{"topic": {"0": 12}}``, with two more
keys that no topic can have: ``@ids`` names the topics' ids, ``@epochs`` the leader
epoch in which each offset was the end. A topic that was deleted and created again,
and offsets that a broker has given out twice, are known by them. Both may be missing,
as they are in a checkpoint of the connector.

Spark compares offsets as text: topics and partitions are always in the same order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from odradek.pipeline.errors import SourceError
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_IDS = "@ids"
_EPOCHS = "@epochs"


@dataclass(frozen=True)
class StreamOffsets:
    """The next offset of each partition; ids and epochs where they are known."""

    ends: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """What Spark is handed."""
        found: dict[str, Any] = _by_topic(self.ends)
        if self.topic_ids:
            ids = sorted(self.topic_ids.items())
            found[_IDS] = {name: to_text(topic_id) for name, topic_id in ids}
        if self.epochs:
            found[_EPOCHS] = _by_topic(self.epochs)
        return found

    def text(self) -> str:
        """The line in the checkpoint, as Spark writes it."""
        return json.dumps(self.to_json())

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> StreamOffsets:
        """The offsets that Spark hands back.

        Raises:
            SourceError: it was not a stream of ours, or of Spark's connector, that
                wrote this checkpoint.
        """
        try:
            topics = {name: each for name, each in found.items() if name[0] != "@"}
            ids = {name: from_text(each) for name, each in found.get(_IDS, {}).items()}
            epochs = _by_place(found.get(_EPOCHS, {}))
            return cls(_by_place(topics), ids, epochs)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise SourceError(
                f"The checkpoint has offsets of another source: {found!r}. Give this "
                "query a checkpointLocation of its own."
            ) from error

    @classmethod
    def of_text(cls, text: str) -> StreamOffsets:
        """The offsets of a line in the checkpoint."""
        return cls.of_json(json.loads(text))


def _by_topic(numbers: Mapping[TopicPartition, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place in sorted(numbers):
        found.setdefault(place.topic, {})[str(place.partition)] = numbers[place]
    return found


def _by_place(found: Mapping[str, Any]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, int(number)): int(value)
        for topic, partitions in found.items()
        for number, value in partitions.items()
    }
