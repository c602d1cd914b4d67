"""What is kept of a partition for a share group: where it begins, what is behind that.

Offsets that were handed out and not finished are not kept: after a restart nobody has
anything. What lies between two batches was never written of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from odradek.protocol.errors import InvalidRequest
from odradek.protocol.uuids import from_text, to_text

NO_START = -1
"""The group has read nothing of the partition yet."""
NO_EPOCH = -1
FIRST_EPOCH = 0
NO_COUNT = -1

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
WRITTEN_STATES = frozenset((AVAILABLE, ACKNOWLEDGED, ARCHIVED))
FINISHED_STATES = frozenset((ACKNOWLEDGED, ARCHIVED))
_PARTITION_MAX = (1 << 31) - 1


class ShareKey(NamedTuple):
    """A partition as a share group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    @classmethod
    def parse(cls, text: str) -> ShareKey:
        """The key that FindCoordinator names ``group:topic-id:partition``.

        Raises:
            InvalidRequest: it is none.
        """
        parts = text.split(":")
        if len(parts) == 3:
            group_id, topic_id, partition = parts
            if group_id.strip() and partition.isascii() and partition.isdecimal():
                try:
                    key = cls(group_id, from_text(topic_id), int(partition))
                except ValueError:
                    pass
                else:
                    if key.partition <= _PARTITION_MAX:
                        return key
        raise InvalidRequest(
            f"'{text}' is no share partition: GROUP:TOPIC_ID:PARTITION is expected"
        )


@lru_cache(maxsize=10_000)  # every acknowledgement asks for it
def key_text(key: ShareKey) -> str:
    """The key as FindCoordinator names it; it says in which shard the state is."""
    return f"{key.group_id}:{to_text(key.topic_id)}:{key.partition}"


class StateBatch(NamedTuple):
    """Offsets in one state, and how often they were handed out."""

    first: int
    last: int
    state: int
    delivery_count: int


class StateUpdate(NamedTuple):
    """What has changed in a share partition; ``start`` -1: not where it begins.

    The epochs are those that the writer knows, -1 for any. ``complete_count`` says how
    many offsets from the start on are finished; None: the coordinator counts.
    """

    state_epoch: int
    leader_epoch: int
    start: int
    batches: tuple[StateBatch, ...]
    complete_count: int | None = None

    @property
    def epochs(self) -> tuple[int, int]:
        """By whom it is."""
        return self.state_epoch, self.leader_epoch


class StoredState(NamedTuple):
    """What was written of a share partition, all of it."""

    state_epoch: int
    leader_epoch: int
    start: int
    complete_count: int
    batches: tuple[StateBatch, ...]


class StateSummary(NamedTuple):
    """Where a share group is in a partition. By default: it has not begun."""

    state_epoch: int = FIRST_EPOCH
    leader_epoch: int = FIRST_EPOCH
    start: int = NO_START
    complete_count: int = NO_COUNT


@dataclass(slots=True)
class ShareState:
    """What the records of a share partition add up to; replay alone changes it.

    ``snapshot_offset`` is where its last snapshot is in the log, ``update_count`` how
    many updates there are behind that.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start: int
    complete_count: int
    created_ms: int
    written_ms: int
    snapshot_offset: int
    batches: list[StateBatch] = field(default_factory=list)
    update_count: int = 0

    def stored(self) -> StoredState:
        """It, as it is now."""
        return StoredState(
            self.state_epoch,
            self.leader_epoch,
            self.start,
            self.complete_count,
            tuple(self.batches),
        )

    def summary(self) -> StateSummary:
        """Where it is now."""
        return StateSummary(
            self.state_epoch, self.leader_epoch, self.start, self.complete_count
        )
