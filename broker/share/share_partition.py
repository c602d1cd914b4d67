"""One partition as a share group sees it: who has which record, what becomes of it.

Nothing here waits or writes. A change that has to be written is an `Update`: its ranges
keep their state until it is durable (`confirm`), or has failed (`give_up`). Acquiring
writes nothing: after a restart nobody has anything.

Invariants: an offset has one state; the start only moves forward, over what nobody is
given any more; whoever has acquired an offset has its lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.share.state import StateBatch

from .acknowledge import by_type, check_held
from .acquire import Acquisition, holes
from .in_flight import NO_LOCK, NOBODY, InFlight, Range
from .record_states import ENDS, AcknowledgeType, RecordState, state_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .acknowledge import Acknowledged
    from .acquire import Acquired, Batch, Limits, Taking


class Update(NamedTuple):
    """What is to be written: states that have changed, and where the group begins.

    ``complete_count`` offsets from there on are finished.
    """

    number: int
    start: int
    batches: tuple[StateBatch, ...]
    complete_count: int


class SharePartition:
    """The state of one partition for one share group."""

    def __init__(self, start: int, limits: Limits) -> None:
        self.start = start
        self.limits = limits
        self._in_flight = InFlight()
        self._update_number = 0
        self._free_from = start  # nothing below it is free

    # Questions

    @property
    def end(self) -> int:
        """The last offset that was handed out; one below the start if there is none."""
        last = self._in_flight.last
        return self.start - 1 if last is None else max(last, self.start - 1)

    @property
    def next_fetch_offset(self) -> int:
        """The first offset that somebody could be given."""
        cursor = max(self.start, self._free_from)
        for each in self._in_flight.since(cursor):
            if each.first > cursor:
                break
            if each.is_free:
                cursor = max(each.first, cursor)
                break
            cursor = each.last + 1
        self._free_from = cursor
        return cursor

    def can_give(self, offset: int) -> bool:
        """Whether somebody may be given what is at the next fetch ``offset``."""
        return offset <= self.end or self.end - self.start + 1 < self.limits.locks_max

    @property
    def held_count(self) -> int:
        """How many offsets members have."""
        return sum(each.size for each in self._in_flight if each.is_held)

    @property
    def is_idle(self) -> bool:
        """Whether all that is known of it was written."""
        return not any(
            each.is_held or each.update is not None for each in self._in_flight
        )

    def ranges(self) -> list[Range]:
        """All that is known of offsets from the start on."""
        return list(self._in_flight)

    # Loading

    def load(self, batches: Iterable[StateBatch]) -> None:
        """Take what was written; acquired records never are."""
        for first, last, state, count in batches:
            self._in_flight.add(Range(first, last, RecordState(state), count))
        self._advance()

    # Acquire

    def acquire(
        self, taking: Taking, batches: Sequence[Batch], fetch_offset: int
    ) -> list[Acquired]:
        """Give a member what is free in these batches of the log, and lock it.

        They were read from ``fetch_offset`` on. What is in none of them is not in the
        log any more, and nobody is given it.
        """
        lost = list(holes(max(fetch_offset, self.start), batches))
        if lost:
            for first, last in lost:
                self._archive_free(first, last)
            self._advance()
        acquisition = Acquisition(
            self._in_flight, self.start, self.limits, taking, batches
        )
        return acquisition.run()

    def _archive_free(self, first: int, last: int) -> None:
        cursor = first
        for each in self._in_flight.within(first, last):
            if each.first > cursor:
                self._add_archived(cursor, each.first - 1)
            if each.is_free:
                each.state = RecordState.ARCHIVED
            cursor = each.last + 1
        if cursor <= last:
            self._add_archived(cursor, last)

    def _add_archived(self, first: int, last: int) -> None:
        self._in_flight.add(Range(first, last, RecordState.ARCHIVED, 0))

    # Acknowledge

    def acknowledge(
        self, member_id: str, said: Sequence[Acknowledged], now_ms: int
    ) -> Update | None:
        """What is to be written of what a member says; all of it counts, or nothing.

        What is below the start is finished, whatever is said of it. None: nothing has
        to be written. That it makes sense was seen before (`check_said`).

        Raises:
            InvalidRequest: it is beyond what was handed out.
            InvalidRecordState: the member does not have one of these.
        """
        check_held(self._in_flight, self.start, member_id, said)
        number = self._next_update()
        changed: list[Range] = []
        for each in said:
            for first, last, kind in by_type(each):
                if last < self.start:
                    continue
                for held in self._in_flight.within(max(first, self.start), last):
                    if kind == AcknowledgeType.RENEW:
                        held.lock_until_ms = now_ms + self.limits.lock_ms
                    else:
                        held.after = self._after(kind, held)
                        held.update = number
                        changed.append(held)
        return self._update(number, changed)

    def _after(self, kind: int, held: Range) -> RecordState:
        return state_after(kind, held.count, self.limits.count_max)

    # Locks

    def release(self, member_id: str) -> Update | None:
        """Give up all that a member has: it is gone."""
        return self._release(
            each
            for each in self._in_flight
            if each.is_held and each.member_id == member_id
        )

    def expire(self, now_ms: int) -> Update | None:
        """Give up all whose locks are over."""
        return self._release(
            each
            for each in self._in_flight
            if each.is_held and each.lock_until_ms <= now_ms
        )

    def next_expiry_ms(self) -> int | None:
        """When the first lock is over."""
        return min(
            (each.lock_until_ms for each in self._in_flight if each.is_held),
            default=None,
        )

    def _release(self, ranges: Iterable[Range]) -> Update | None:
        number = self._next_update()
        changed = list(ranges)
        for each in changed:
            each.after = self._after(AcknowledgeType.RELEASE, each)
            each.update = number
        return self._update(number, changed)

    # Updates

    def _next_update(self) -> int:
        self._update_number += 1
        return self._update_number

    def _update(self, number: int, changed: list[Range]) -> Update | None:
        if not changed:
            return None
        batches = tuple(
            StateBatch(each.first, each.last, each.state_then, each.count)
            for each in changed
        )
        start = self._start_then()
        complete_count = sum(
            each.size
            for each in self._in_flight
            if each.first >= start and each.state_then in ENDS
        )
        return Update(number, start, batches, complete_count)

    def _start_then(self) -> int:
        """Where the group begins when all is durable that was decided."""
        cursor = self.start
        for each in self._in_flight:
            if each.first > cursor or each.state_then not in ENDS:
                return cursor
            cursor = each.last + 1
        return cursor

    def confirm(self, update: Update) -> None:
        """It is durable."""
        for each in self._of(update):
            each.state = each.state_then
            self._settle(each)
        self._advance()

    def give_up(self, update: Update, now_ms: int) -> None:
        """It was not written: who had something has it, if its lock is not over."""
        for each in self._of(update):
            if each.lock_until_ms <= now_ms:
                each.state = self._after(AcknowledgeType.RELEASE, each)
                self._settle(each)
            else:
                each.update = each.after = None
        self._advance()

    def _of(self, update: Update) -> list[Range]:
        return [each for each in self._in_flight if each.update == update.number]

    def _settle(self, each: Range) -> None:
        if each.state is RecordState.AVAILABLE:
            self._free_from = min(self._free_from, each.first)
        each.update = each.after = None
        each.member_id, each.lock_until_ms = NOBODY, NO_LOCK

    def move_start(self, log_start: int) -> None:
        """The log begins later now: what is below is finished, whoever has it."""
        if log_start > self.start:
            self.start = log_start
            self._in_flight.drop_below(log_start)
            self._advance()

    def _advance(self) -> None:
        """Move the start over what nobody is given any more."""
        for each in self._in_flight:
            is_over = each.state in ENDS and each.update is None
            if each.first > self.start or not is_over:
                break
            self.start = each.last + 1
        self._in_flight.drop_below(self.start)
        self._in_flight.join_neighbours()
