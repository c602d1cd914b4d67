"""Streams groups as handlers know them: one method for each question.

As with `GroupCoordinator`, a method returns the response, or a `Parked` one; what it
refuses is the response that ``refuse`` makes of the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import InvalidGroupId

from .answers import refused_streams_beat
from .describe import decide_describe_streams_group
from .heartbeat import decide_streams_beat

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.runtime import CoordinatorRuntime
    from odradek.broker.runtime.parked import Parked, T
    from odradek.protocol.errors import KafkaError

    from .answers import StreamsAnswer
    from .asked import StreamsBeat
    from .internal_topics import InternalTopics

    Refuse = Callable[[KafkaError], T]


class StreamsGroupCoordinator:
    """The streams groups of this broker, and the topics that these need."""

    def __init__(
        self, runtime: CoordinatorRuntime[GroupShard], internal_topics: InternalTopics
    ) -> None:
        self.internal_topics = internal_topics
        self._runtime = runtime

    def beat(self, beat: StreamsBeat) -> StreamsAnswer | Parked[StreamsAnswer]:
        """The answer of a StreamsGroupHeartbeat, and the topics that it misses."""
        return self._runtime.act(
            beat.request.group_id,
            lambda shard: decide_streams_beat(shard, beat),
            refused_streams_beat,
        )

    def describe(self, group_id: str, refuse: Refuse[T]) -> T | Parked[T]:
        """What a group does."""
        if not group_id:
            return refuse(InvalidGroupId())
        return self._runtime.act(
            group_id,
            lambda shard: decide_describe_streams_group(shard, group_id),
            refuse,
        )

    async def close(self) -> None:
        """Wait for the topics that are being made."""
        await self.internal_topics.close()
