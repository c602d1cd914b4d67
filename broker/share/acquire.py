"""Which records of a share partition a member is given, of those that were read.

Offsets that nobody has are free: handed out before and given back, or never. They are
given in runs, in order. Whole batches of the log go together, beyond how many were
asked for, unless exactly so many are wanted.

A record that has failed often may be why those beside it fail. So of offsets that were
tried for half of the times that there are only a half is given, on the last try one
alone, and nothing else with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .in_flight import Range
from .record_states import RecordState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .in_flight import InFlight

NO_BATCH_SIZE = (1 << 31) - 1
Batch = tuple[int, int]  # of the log: first and last offset


class Limits(NamedTuple):
    """The options of a share group that a partition goes by."""

    lock_ms: int = 30_000
    locks_max: int = 2_000
    count_max: int = 5


class Taking(NamedTuple):
    """Who asks for records, and for how many; exactly so many, or whole batches.

    Of whole batches a range of the answer ends where the first of them ends behind
    ``batch_size`` records.
    """

    member_id: str
    records_max: int
    now_ms: int
    is_exact: bool = False
    batch_size: int = NO_BATCH_SIZE


class Acquired(NamedTuple):
    """Offsets that a member has now, and how often they were tried with this."""

    first: int
    last: int
    delivery_count: int

    @property
    def size(self) -> int:
        """How many offsets."""
        return self.last - self.first + 1


class Run(NamedTuple):
    """Offsets in a row that nobody has, all tried equally often."""

    first: int
    last: int
    tried: int


class Acquisition:
    """One member is given what is free in batches of the log."""

    def __init__(
        self,
        in_flight: InFlight,
        start: int,
        limits: Limits,
        taking: Taking,
        batches: Sequence[Batch],
    ) -> None:
        self._in_flight = in_flight
        self._start = start
        self._limits = limits
        self._taking = taking
        self._batches = batches
        self._left = taking.records_max
        self.given: list[Acquired] = []

    def run(self) -> list[Acquired]:
        """Give, and lock; what was given."""
        if not self._batches:
            return []
        first, last = max(self._batches[0][0], self._start), self._batches[-1][1]
        last_new = self._last_new()
        for each in self._free(first, min(last, last_new)):
            if self._left <= 0 or self._give_of(each):
                break
        return self.given

    def _last_new(self) -> int:
        """The last offset that may be given, for the locks that there may be."""
        end = self._in_flight.last
        end = self._start - 1 if end is None else max(end, self._start - 1)
        room = self._limits.locks_max - (end - self._start + 1)
        if room <= 0:
            return end
        last = end + room
        return last if self._taking.is_exact else self._end_of_batch(last)

    def _free(self, first: int, last: int) -> Iterator[Run]:
        """The runs that nobody has, in order."""
        run: Run | None = None
        for each in self._pieces(first, last):
            if run is not None:
                if run.last + 1 == each.first and run.tried == each.tried:
                    run = run._replace(last=each.last)
                    continue
                yield run
            run = each
        if run is not None:
            yield run

    def _pieces(self, first: int, last: int) -> Iterator[Run]:
        if first > last:
            return
        cursor = first
        for each in self._in_flight.within(first, last):
            if each.first > cursor:
                yield Run(cursor, each.first - 1, 0)
            if each.is_free:
                yield Run(each.first, each.last, each.count)
            cursor = each.last + 1
        if cursor <= last:
            yield Run(cursor, last, 0)

    def _give_of(self, run: Run) -> bool:
        """Give of one run what may be given. Whether nothing may come behind it."""
        first, last, tried = run
        size, count_max = last - first + 1, self._limits.count_max
        is_suspect = tried >= max(2, (count_max + 1) // 2)
        is_last_try = count_max > 2 and tried == count_max - 1
        if (is_suspect or is_last_try) and self.given:
            return True
        if is_last_try:
            last = first
        elif is_suspect:
            last = first + (size + 1) // 2 - 1
        if last - first + 1 > self._left:
            last_wanted = first + self._left - 1
            if self._taking.is_exact:
                last = last_wanted
            elif not is_suspect:
                last = min(last, self._end_of_batch(last_wanted))
        self._take(first, last, tried + 1)
        self._left -= last - first + 1
        for begin, end in self._cut(first, last):
            self.given.append(Acquired(begin, end, tried + 1))
        return is_suspect or is_last_try

    def _take(self, first: int, last: int, count: int) -> None:
        cursor = first
        for each in self._in_flight.within(first, last):
            if each.first > cursor:
                self._lock_new(cursor, each.first - 1, count)
            self._lock(each, count)
            cursor = each.last + 1
        if cursor <= last:
            self._lock_new(cursor, last, count)

    def _lock_new(self, first: int, last: int, count: int) -> None:
        new = Range(first, last, RecordState.ACQUIRED, count)
        self._lock(new, count)
        self._in_flight.add(new)

    def _lock(self, each: Range, count: int) -> None:
        each.state, each.count = RecordState.ACQUIRED, count
        each.member_id = self._taking.member_id
        each.lock_until_ms = self._taking.now_ms + self._limits.lock_ms

    # Batches of the log

    def _end_of_batch(self, offset: int) -> int:
        """The end of the batch that has ``offset``; of the last one, if none has."""
        for _, last in self._batches:
            if last >= offset:
                return last
        return self._batches[-1][1]

    def _cut(self, first: int, last: int) -> Iterator[Batch]:
        """Ranges that are longer than asked for end where a batch does."""
        if not self._taking.is_exact and last - first + 1 > self._taking.batch_size:
            for base, _ in self._batches:
                if base > last:
                    break
                if base - first >= self._taking.batch_size:
                    yield first, base - 1
                    first = base
        yield first, last


def holes(fetch_offset: int, batches: Sequence[Batch]) -> Iterator[Batch]:
    """Offsets from ``fetch_offset`` on that are in no batch: compaction took them."""
    cursor = fetch_offset
    for first, last in batches:
        if first > cursor:
            yield cursor, first - 1
        cursor = max(cursor, last + 1)
