"""Another broker's copy of a partition that we lead, as its fetches show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from odradek.storage.values.offset_metadata import UNKNOWN_OFFSET, OffsetMetadata

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition

NO_OFFSET = -1
ANY_BROKER_EPOCH = -1


class Reads(Protocol):
    """The session by which a follower reads a partition, and others."""

    def note_change(self, topic_partition: TopicPartition) -> None:
        """There is something to tell, with the next records."""

    def note_append(self, topic_partition: TopicPartition) -> None:
        """There are records, or something else that does not wait."""

    def expect(self, topic_partition: TopicPartition, now_ms: int) -> None:
        """It is to read one more: let it not wait until it has named that."""


class Follower:
    """How far one replica is, and when it last had everything that we had.

    ``end`` is the offset that it asked for last: it has all below.
    """

    __slots__ = (
        "_fetched_ms",
        "_leader_end_at_fetch",
        "broker_epoch",
        "broker_id",
        "caught_up_ms",
        "end",
        "log_start_offset",
        "reads",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch = ANY_BROKER_EPOCH
        self.log_start_offset = NO_OFFSET
        self.end: OffsetMetadata = UNKNOWN_OFFSET
        self.reads: Reads | None = None  # there is no session
        self.caught_up_ms = 0
        self._leader_end_at_fetch = NO_OFFSET
        self._fetched_ms = 0

    def note_fetch(
        self,
        place: OffsetMetadata,
        log_start_offset: int,
        leader_end_offset: int,
        now_ms: int,
        broker_epoch: int = ANY_BROKER_EPOCH,
    ) -> None:
        """It asks for the records from ``place`` on; our log ends where it says.

        Who asks for what was the end when it asked before had caught up then, though
        the end has moved since: else nobody could follow a leader that never rests.
        """
        caught_up_ms = self.caught_up_ms
        if place.offset >= leader_end_offset:
            caught_up_ms = now_ms
        elif place.offset >= self._leader_end_at_fetch:
            caught_up_ms = self._fetched_ms
        self.caught_up_ms = max(self.caught_up_ms, caught_up_ms)
        self.end = place
        self.log_start_offset = log_start_offset
        self.broker_epoch = broker_epoch
        self._leader_end_at_fetch = max(leader_end_offset, self._leader_end_at_fetch)
        self._fetched_ms = now_ms

    def begin_epoch(
        self,
        leader_end_offset: int,
        now_ms: int,
        *,
        is_in_sync: bool,
        is_led_anew: bool,
    ) -> None:
        """A leader epoch begins; in sync, it is given the benefit of the doubt.

        ``is_led_anew``: somebody else led before, so nothing is known of it.
        """
        self.caught_up_ms = self._fetched_ms = now_ms if is_in_sync else 0
        self._leader_end_at_fetch = leader_end_offset
        if is_led_anew:
            self.end, self.log_start_offset = UNKNOWN_OFFSET, NO_OFFSET
            self._leader_end_at_fetch, self._fetched_ms = NO_OFFSET, 0

    def is_caught_up(
        self, leader_end_offset: int, now_ms: int, lag_max_ms: int
    ) -> bool:
        """Whether it has all records, or had them within the last ``lag_max_ms``."""
        return (
            self.end.offset == leader_end_offset
            or now_ms - self.caught_up_ms <= lag_max_ms
        )
