"""The producers of a log, replayed from its batches, and its transaction indexes.

A producer's state at an offset is a snapshot and what followed it. On the way every
aborted transaction comes by, so the transaction indexes of the segments that are read
are compared with what they should hold, and written anew where they differ.

What a damaged batch said of its producer is not known. If it was the marker of an
aborted transaction, the transaction index still says so; if not, a transaction that was
open before the damage stays open, and is reported.
"""

import logging
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.protocol.batch_columns import BatchRun
from odradek.protocol.record_batch import CONTROL, TRANSACTIONAL
from odradek.storage.formats.transaction_entry import TransactionEntry
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.scan.batch_walk import BATCH_START_SIZE, last_offset_at
from odradek.storage.scan.result import Recovery
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.log_lines import LogLines

from .state import BATCHES_KEPT
from .states import CompletedTransaction, ProducerStates

if TYPE_CHECKING:
    from collections.abc import Iterable

_END = 1 << 62
_OF_TRANSACTIONS = TRANSACTIONAL | CONTROL

_log = logging.getLogger(__name__)


class ProducerReplay:
    """Applies batches in order, one segment after another.

    For each `begin`, `take` for all valid batches, and `end`; or `read` and `end`.
    """

    def __init__(self, producers: ProducerStates) -> None:
        self.producers = producers
        self._position = 0  # behind the last batch
        self._next_offset = 0  # behind the last batch
        self._range = (0, 0)  # the offsets that are replayed of this segment
        self._known: dict[int, TransactionEntry] = {}
        self._found: list[TransactionEntry] = []
        self._uncertain: dict[int, int] = {}  # first offsets by producer id

    def read(self, segment: LogSegment, start: int, end: int = _END) -> Recovery:
        """`begin`, and `take` the batches of a segment from ``start`` up to ``end``.

        Returns what was found up to there; `end` is still to be called.
        """
        position = indexed_position(segment, start)
        self.begin(segment, start, position, end)
        behind = segment.reader.end.offset
        limit = segment.reader.end.limit - segment.base_offset - 1
        expected = Expected(
            None,
            behind,
            limit,
            segment.indexes.has_gaps,
            boundary=None if end == _END else end,
        )
        scan = BatchScan(segment.log, position, segment.base_offset, True, expected)
        for run in scan.runs():
            part: BatchRun | None = run
            if run.next_offset > end:
                behind = bisect_left(run.columns.base_offsets, end)
                part = run.part(0, behind)
            if part is not None:
                self.take(part)
            if run.next_offset >= end:
                break
        return scan.recovery()._replace(next_offset=self._next_offset)

    def begin(
        self, segment: LogSegment, start: int, position: int, end: int = _END
    ) -> None:
        """Go on in a segment, whose batch for ``start`` is at or behind ``position``.

        Raises:
            CorruptIndex: the transaction index cannot be believed.
        """
        start = max(start, self.producers.map_end_offset)
        self._range = start, end
        self._position = position
        self._next_offset = max(start, segment.base_offset)
        self._found = []
        self._known = {
            entry.last_offset: entry
            for entry in segment.transactions.entries()
            if start <= entry.last_offset < end
        }

    def take(self, run: BatchRun) -> None:
        """Take the next valid batches."""
        columns = run.columns
        if run.start > self._position:
            self._pass_over(columns.base_offsets[0])
        self._position, self._next_offset = run.end, run.next_offset
        producer_ids = set(columns.producer_ids)
        producers = self.producers
        if max(producer_ids) >= 0:
            first = bisect_left(columns.base_offsets, producers.map_end_offset)
            new = range(first, run.length)
            places: Iterable[int] = new
            if not any(each & _OF_TRANSACTIONS for each in set(columns.attributes)):
                places = _last_of_each(columns.producer_ids, new, producer_ids)
            for _, header, batch in run.batches(places):
                completed = producers.replay(header, batch)
                if completed is not None:
                    self._complete(completed)
        producers.map_end_offset = max(producers.map_end_offset, run.next_offset)

    def end(self, segment: LogSegment, next_offset: int) -> None:
        """The segment is read; what is lacking up to ``next_offset`` is damaged."""
        if next_offset > self._next_offset:
            self._pass_over(next_offset)
        known = list(self._known.values())
        if known == self._found:
            return
        transactions = segment.transactions
        start, end = self._range
        LogLines(_log, transactions.path.parent).warning(
            "%s has %d aborted transactions from offset %d on where the log has %d:"
            " noticed and rebuilt",
            transactions.path.name,
            len(known),
            start,
            len(self._found),
        )
        behind = [each for each in transactions.entries() if each.last_offset >= end]
        transactions.truncate_to(start)
        for entry in (*self._found, *behind):
            transactions.append(entry)

    def report_uncertain(self, directory: Path) -> None:
        """Say which transactions are open only because of damage, maybe."""
        lines = LogLines(_log, directory)
        for producer_id, first_offset in self._uncertain.items():
            lines.warning(
                "the transaction of producer %d from offset %d on may have ended in"
                " a damaged batch; it is open until its coordinator ends it",
                producer_id,
                first_offset,
            )

    def _complete(self, completed: CompletedTransaction) -> None:
        producer_id, first_offset, last_offset, is_aborted = completed
        if is_aborted:
            known = self._known.get(last_offset)
            if known is not None and producer_id in self._uncertain:
                # One transaction may have ended, and another begun, in the damage.
                first_offset = max(first_offset, known.first_offset)
            stable = self.producers.last_stable_offset(completed)
            self._found.append(
                TransactionEntry(producer_id, first_offset, last_offset, stable)
            )
        self._uncertain.pop(producer_id, None)
        self.producers.complete(completed)

    def _pass_over(self, next_offset: int) -> None:
        """Skip what is damaged, up to ``next_offset``."""
        producers = self.producers
        for offset, entry in self._known.items():
            if self._next_offset <= offset < next_offset:
                completed = producers.end_transaction(entry.producer_id, offset)
                if completed is not None:
                    producers.complete(completed)
                self._found.append(entry)
        self._uncertain = {
            state.producer_id: state.current_txn_first_offset
            for state in producers.with_transactions()
        }
        self._next_offset = next_offset


def _last_of_each(
    column: memoryview, places: range, producer_ids: set[int]
) -> list[int]:
    """The places of the last batches of each producer: no state remembers more."""
    counts = dict.fromkeys(producer_ids, 0)
    open_count = len(counts) - (-1 in counts)
    found = []
    for place in reversed(places):
        producer_id = column[place]
        if producer_id < 0 or counts[producer_id] == BATCHES_KEPT:
            continue
        counts[producer_id] += 1
        found.append(place)
        if counts[producer_id] == BATCHES_KEPT:
            open_count -= 1
            if not open_count:
                break
    found.reverse()
    return found


def indexed_position(segment: LogSegment, offset: int) -> int:
    """Where to begin reading a segment so as not to miss ``offset``."""
    if offset <= segment.base_offset:
        return 0
    entry = segment.indexes.floor(offset)
    start = segment.log.read_at(entry.position, BATCH_START_SIZE)
    return entry.position if last_offset_at(start) == entry.offset else 0
