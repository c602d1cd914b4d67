"""One partition as a share group sees it: who has which record, what becomes of it.

Nothing here waits or writes. A change that has to be written is an `Update`: its ranges
keep their state until it is durable (`confirm`), or has failed (`give_up`). Acquiring
writes nothing: after a restart nobody has anything.

Invariants: an offset has one state; the start only moves forward, over what nobody is
given any more; whoever has acquired an offset has its lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidRecordState, InvalidRequest

from .in_flight import NO_LOCK, NOBODY, InFlight, Range
from .record_states import (
    ENDS,
    AcknowledgeType,
    RecordState,
    StateBatch,
    state_after,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Limits(NamedTuple):
    """The options of a share group that a partition goes by."""

    lock_ms: int = 30_000
    locks_max: int = 2_000
    count_max: int = 5


class Taking(NamedTuple):
    """Who asks for records, and for how many; exactly so many, or whole batches."""

    member_id: str
    records_max: int
    now_ms: int
    is_exact: bool = False


class Acquired(NamedTuple):
    """Offsets that a member has now, and how often they were tried with this."""

    first: int
    last: int
    delivery_count: int


class Acknowledged(NamedTuple):
    """What a member says of offsets: one type for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class Update(NamedTuple):
    """What is to be written: states that have changed, and where the group begins."""

    number: int
    start: int
    batches: list[StateBatch]


class SharePartition:
    """The state of one partition for one share group."""

    def __init__(self, start: int, limits: Limits) -> None:
        self.start = start
        self.limits = limits
        self._in_flight = InFlight()
        self._update_number = 0

    # Questions

    @property
    def end(self) -> int:
        """The last offset that was handed out; one below the start if there is none."""
        last = self._in_flight.last
        return self.start - 1 if last is None else max(last, self.start - 1)

    @property
    def next_fetch_offset(self) -> int:
        """The first offset that somebody could be given."""
        cursor = self.start
        for each in self._in_flight:
            if each.first > cursor:
                return cursor
            if each.state is RecordState.AVAILABLE and each.update is None:
                return max(each.first, cursor)
            cursor = each.last + 1
        return cursor

    @property
    def is_full(self) -> bool:
        """Whether nobody can be given anything before something is finished."""
        return (
            self.end - self.start + 1 >= self.limits.locks_max
            and self.next_fetch_offset > self.end
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
        self, taking: Taking, batches: Iterable[tuple[int, int]]
    ) -> list[Acquired]:
        """Give a member what is free in these batches of the log, and lock it.

        A record that has failed often may be why its batch fails: of such offsets only
        a half is given, and on the last try one alone, and nothing behind it.
        """
        given: list[Acquired] = []
        count = 0
        for first, last in batches:
            for free_first, free_last, tried in self._free(first, last):
                if count >= taking.records_max:
                    return given
                end, is_last = self._end(taking, count, free_first, free_last, tried)
                given.append(self._take(taking, free_first, end, tried + 1))
                count += end - free_first + 1
                if is_last:
                    return given
        return given

    def _free(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """What nobody has of a batch: first and last offset, and how often tried."""
        free: list[tuple[int, int, int]] = []
        cursor = max(first, self.start)
        if cursor > last:
            return free
        for each in self._in_flight.within(cursor, last):
            if each.first > cursor:
                free.append((cursor, each.first - 1, 0))
            if each.state is RecordState.AVAILABLE and each.update is None:
                free.append((each.first, each.last, each.count))
            cursor = each.last + 1
        has_room = cursor <= self.end or (
            self.end - self.start + 1 < self.limits.locks_max
        )
        if cursor <= last and has_room:
            free.append((cursor, last, 0))
        return free

    def _end(
        self, taking: Taking, count: int, first: int, last: int, tried: int
    ) -> tuple[int, bool]:
        """The last offset that is given of some, and whether nothing is behind it."""
        size, count_max = last - first + 1, self.limits.count_max
        if tried and count_max > 2 and tried == count_max - 1:
            return first, True
        if tried >= max(2, (count_max + 1) // 2):
            size = (size + 1) // 2
        if taking.is_exact:
            size = min(size, taking.records_max - count)
        return first + size - 1, False

    def _take(self, taking: Taking, first: int, last: int, count: int) -> Acquired:
        lock_until_ms = taking.now_ms + self.limits.lock_ms
        known = self._in_flight.within(first, last)
        if known:
            assert len(known) == 1, known
            (taken,) = known
            taken.state, taken.count = RecordState.ACQUIRED, count
            taken.member_id, taken.lock_until_ms = taking.member_id, lock_until_ms
        else:
            state = RecordState.ACQUIRED
            self._in_flight.add(
                Range(first, last, state, count, taking.member_id, lock_until_ms)
            )
        return Acquired(first, last, count)

    # Acknowledge

    def acknowledge(
        self, member_id: str, said: Sequence[Acknowledged], now_ms: int
    ) -> Update | None:
        """What is to be written of what a member says; all of it counts, or nothing.

        What is below the start is finished, whatever is said of it. None: nothing has
        to be written.

        Raises:
            InvalidRequest: it is no sense, or beyond what was handed out.
            InvalidRecordState: the member does not have one of these.
        """
        self._check(said)
        self._check_held(member_id, said)
        number = self._next_update()
        changed: list[Range] = []
        for each in said:
            for first, last, kind in _by_type(each):
                for held in self._in_flight.within(max(first, self.start), last):
                    if kind == AcknowledgeType.RENEW:
                        held.lock_until_ms = now_ms + self.limits.lock_ms
                    else:
                        held.after = self._after(kind, held)
                        held.update = number
                        changed.append(held)
        return self._update(number, changed)

    def _check(self, said: Sequence[Acknowledged]) -> None:
        before = -1
        for first, last, types in said:
            if first > last:
                raise InvalidRequest("An acknowledgement ends before it begins.")
            if first <= before:
                raise InvalidRequest("Acknowledgements overlap, or are in no order.")
            if not types or len(types) not in (1, last - first + 1):
                raise InvalidRequest("An acknowledgement needs one type, or one each.")
            if any(kind not in _TYPES for kind in types):
                raise InvalidRequest("There is no such type of acknowledgement.")
            if last > self.end:
                raise InvalidRequest("Nobody was given what is acknowledged.")
            before = last

    def _check_held(self, member_id: str, said: Sequence[Acknowledged]) -> None:
        for first, last, _ in said:
            cursor = max(first, self.start)
            for each in self._in_flight.within(cursor, last) if cursor <= last else ():
                if (
                    each.first != cursor
                    or each.state is not RecordState.ACQUIRED
                    or each.member_id != member_id
                    or each.update is not None
                ):
                    raise InvalidRecordState
                cursor = each.last + 1
            if cursor <= last:
                raise InvalidRecordState

    def _after(self, kind: int, held: Range) -> RecordState:
        return state_after(kind, held.count, self.limits.count_max)

    # Locks

    def release(self, member_id: str) -> Update | None:
        """Give up all that a member has: it is gone."""
        return self._release(
            each for each in self._in_flight if each.member_id == member_id
        )

    def expire(self, now_ms: int) -> Update | None:
        """Give up all whose locks are over."""
        return self._release(
            each for each in self._in_flight if each.lock_until_ms <= now_ms
        )

    def next_expiry_ms(self) -> int | None:
        """When the first lock is over."""
        return min(
            (
                each.lock_until_ms
                for each in self._in_flight
                if each.state is RecordState.ACQUIRED and each.update is None
            ),
            default=None,
        )

    def _release(self, ranges: Iterable[Range]) -> Update | None:
        number = self._next_update()
        changed = []
        for each in list(ranges):
            if each.state is RecordState.ACQUIRED and each.update is None:
                each.after = self._after(AcknowledgeType.RELEASE, each)
                each.update = number
                changed.append(each)
        return self._update(number, changed)

    # Updates

    def _next_update(self) -> int:
        self._update_number += 1
        return self._update_number

    def _update(self, number: int, changed: list[Range]) -> Update | None:
        if not changed:
            return None
        batches = [
            StateBatch(each.first, each.last, each.state_then, each.count)
            for each in changed
        ]
        return Update(number, self._start_then(), batches)

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
        each.update = each.after = None
        each.member_id, each.lock_until_ms = NOBODY, NO_LOCK

    def move_start(self, log_start: int) -> None:
        """The log begins later now. What was handed out below stays so for its lock."""
        if log_start <= self.start:
            return
        for each in self._in_flight.within(self.start, log_start - 1):
            if each.state is RecordState.AVAILABLE and each.update is None:
                each.state = RecordState.ARCHIVED
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


_TYPES = frozenset(AcknowledgeType)


def _by_type(said: Acknowledged) -> Iterable[tuple[int, int, int]]:
    """Offsets in a row with one type: first, last, type."""
    first, last, types = said
    if len(types) == 1:
        yield first, last, types[0]
        return
    begin = first
    for offset in range(first + 1, last + 2):
        if offset > last or types[offset - first] != types[begin - first]:
            yield begin, offset - 1, types[begin - first]
            begin = offset
