"""The committed offsets of the source's groups, committed here as well.

Invariant: none is committed that lies beyond what can be read here: a consumer that
went on from there would find nothing, and begin anew somewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.offsets.commit import Committer, WantedOffset
from odradek.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.runtime.clock import Clock
    from odradek.client.group_offsets import CommittedOffset
    from odradek.protocol.topic_partition import TopicPartition

    from .source import GroupOffsets

    # Up to where a partition of the mirror can be read; None for others.
    EndOf = Callable[[TopicPartition], int | None]

# What is there for long would expire here (offsets.retention.minutes), while its group
# has members there.
AGAIN_MS = 3_600_000
_VERSION = 8  # of OffsetCommit, as far as its errors depend on that

_logger = logging.getLogger(__name__)


class GroupCopies:
    """What was committed here for the groups of the source."""

    def __init__(
        self, mirror: str, groups: GroupCoordinator, topics: Topics, clock: Clock
    ) -> None:
        self.busy: set[str] = set()  # groups that have members here
        self._mirror = mirror
        self._groups = groups
        self._topics = topics
        self._copied: dict[tuple[str, TopicPartition], CommittedOffset] = {}
        self._copied_ms: dict[str, int] = {}
        self._clock = clock

    @property
    def count(self) -> int:
        """How many groups have offsets here that were copied."""
        return len({group for group, _ in self._copied})

    async def take(self, found: GroupOffsets, end_of: EndOf) -> None:
        """Commit what has changed since, and all once an hour.

        A group that has members here is left alone.

        Raises:
            KafkaError: the coordinator cannot be asked now.
        """
        busy = set()
        now_ms = self._clock.monotonic_ms()
        for group_id, offsets in found.items():
            is_old = now_ms - self._copied_ms.get(group_id, 0) >= AGAIN_MS
            changed = {
                place: committed
                for place, committed in offsets.items()
                if (is_old or self._copied.get((group_id, place)) != committed)
                and (end := end_of(place)) is not None
                and committed.offset <= end
            }
            if changed and not await self._commit(group_id, changed):
                busy.add(group_id)
            elif is_old:
                self._copied_ms[group_id] = now_ms
        for group_id in busy - self.busy:
            _logger.warning(
                "mirror %s: group %s has members here; its offsets are not copied "
                "while it has",
                self._mirror,
                group_id,
            )
        self.busy = busy

    async def _commit(
        self, group_id: str, offsets: dict[TopicPartition, CommittedOffset]
    ) -> bool:
        """Whether the group takes them."""
        if not self._groups.has_topic:
            await self._groups.create_topic()
        known = [
            (place, committed, topic.topic_id)
            for place, committed in offsets.items()
            if (topic := self._topics.get(place.topic)) is not None
        ]
        wanted = [
            WantedOffset(
                place.topic,
                place.partition,
                committed.offset,
                committed.leader_epoch,
                committed.metadata,
                topic_id,
            )
            for place, committed, topic_id in known
        ]

        def refuse(error: KafkaError) -> list[int]:
            return [error.code] * len(wanted)

        answer = self._groups.commit(
            Committer(group_id), wanted, _VERSION, -1, lambda codes: codes, refuse
        )
        codes = await answer if isinstance(answer, Awaitable) else answer
        for (place, committed, _), code in zip(known, codes, strict=True):
            if not code:
                self._copied[group_id, place] = committed
        return not set(codes) - {ErrorCode.NONE} - _PASSING


_PASSING = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
