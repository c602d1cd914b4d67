"""The producers that a partition remembers: those at work, and the many at rest.

One at work is a `ProducerState`. Its row in the table is brought up to date later, with
those of others, and before a picture is taken. One at rest is its row alone, and its
batches where it has several: less than half of the memory (180 bytes, with five batches
414), and nothing to look at for the garbage collector. Whoever asks for it has it at
work again.

Invariants: at most `AT_WORK_MAX` are at work, and not many more than `PRODUCERS_MAX`
are known. The row of each is as its state is, but for those in ``_changed``, which are
at most `CHANGED_MAX` and have ``is_packed`` False. So nothing that is done for others
takes the loop for longer than some hundred steps, however many producers there are.
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from struct import Struct
from typing import Final

from odradek.storage.formats.producer_entry import ProducerEntry

from .growing_map import GrowingMap
from .state import NO_OFFSET, BatchMetadata, ProducerState
from .table import PIECE_LENGTH, ProducerPicture, ProducerTable

PRODUCERS_MAX: Final = 1_000_000
AT_WORK_MAX: Final = 10_000
CHANGED_MAX: Final = 256
# When there are too many, one is forgotten: the one that is silent for longest, of the
# first sample that has any without a transaction.
_SAMPLE_LENGTH = 16
_SAMPLES_MAX = 64

_BATCH = Struct(">iqiq")

_log = logging.getLogger(__name__)


class KnownProducers:
    """Producers by id. ``at_work`` is for a look without a call; see the module."""

    __slots__ = (
        "_at_work_max",
        "_batches",
        "_changed",
        "_is_full",
        "_producers_max",
        "_sampled",
        "_table",
        "at_work",
        "owner",
    )

    def __init__(
        self, producers_max: int = PRODUCERS_MAX, at_work_max: int = AT_WORK_MAX
    ) -> None:
        self.owner: object = "a partition"  # for lines in the log
        self._producers_max = producers_max
        self._at_work_max = at_work_max
        self.at_work: dict[int, ProducerState] = {}
        self._changed: list[ProducerState] = []
        self._table = ProducerTable()
        self._batches = GrowingMap[bytes]()  # of those at rest that have several
        self._sampled = 0  # the row behind those that were sampled last
        self._is_full = False

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[ProducerState]:
        """All of them, in no order that means anything; none is put to work."""
        self._pack_changed()
        for start, end in self._pieces():
            for entry in list(self._table.rows(start, end)):
                state = self.at_work.get(entry.producer_id)
                yield self._state_at_rest(entry) if state is None else state

    def get(self, producer_id: int) -> ProducerState | None:
        """A producer, which is at work then; None when it is not known."""
        state = self.at_work.get(producer_id)
        if state is not None:
            return state
        entry = self._table.get(producer_id)
        if entry is None:
            return None
        state = self._state_at_rest(entry)
        self._batches.pop(producer_id)
        self._put_to_work(state)
        return state

    def add(self, producer_id: int) -> ProducerState:
        """A producer that was not known. What is to be known of it is the caller's."""
        if len(self._table) >= self._producers_max:
            self._forget_one()
        state = ProducerState(producer_id)
        self._table.add(producer_id)
        self._put_to_work(state)
        self.note_change(state)
        return state

    def note_change(self, state: ProducerState) -> None:
        """Say, before it is so, that a producer changes whose ``is_packed`` is True."""
        if len(self._changed) >= CHANGED_MAX:
            self._pack_changed()
        state.is_packed = False
        self._changed.append(state)

    def picture(self) -> ProducerPicture:
        """All as they are now, for a snapshot."""
        self._pack_changed()
        return self._table.picture()

    def remove_expired(self, now_ms: int, expiration_ms: int) -> Iterator[None]:
        """Forget those that were silent for too long, in steps.

        Between two steps everything may change.
        """
        end = len(self._table)
        while end > 0:
            start = (end - 1) // PIECE_LENGTH * PIECE_LENGTH
            self._remove_expired_of(start, end, now_ms, expiration_ms)
            end = min(start, len(self._table))
            if end > 0:
                yield
        self._is_full = self._is_full and len(self._table) >= self._producers_max

    def clear(self) -> None:
        """Forget all."""
        self.at_work.clear()
        self._changed.clear()
        self._table = ProducerTable()
        self._batches = GrowingMap()
        self._is_full = False

    def load(
        self, entries: Iterable[ProducerEntry], now_ms: int, expiration_ms: int
    ) -> list[ProducerState]:
        """Know these too, but for the expired. Returns those with a transaction."""
        with_transactions: set[int] = set()
        for entry in entries:
            if _has_expired(entry, now_ms, expiration_ms):
                continue
            self._table.put(entry)
            if entry.current_txn_first_offset != NO_OFFSET:
                with_transactions.add(entry.producer_id)
        states = filter(None, map(self.get, with_transactions))
        return [state for state in states if state.has_transaction]

    def _remove_expired_of(
        self, start: int, end: int, now_ms: int, expiration_ms: int
    ) -> None:
        self._pack_changed()
        expired = [
            entry.producer_id
            for entry in self._table.rows(start, end)
            if _has_expired(entry, now_ms, expiration_ms)
        ]
        for producer_id in expired:
            self._forget(producer_id)

    def _forget(self, producer_id: int) -> None:
        """Forget one that is not among the changed."""
        self.at_work.pop(producer_id, None)
        self._batches.pop(producer_id)
        self._table.remove(producer_id)

    def _forget_one(self) -> None:
        """Make room for another producer."""
        if not self._is_full:
            self._is_full = True
            _log.warning(
                "%s has %d producers, as many as are remembered: for each new one, one"
                " that is silent is forgotten",
                self.owner,
                len(self._table),
            )
        self._pack_changed()
        for _ in range(_SAMPLES_MAX):
            start = self._sampled % len(self._table)
            end = start // PIECE_LENGTH * PIECE_LENGTH + PIECE_LENGTH
            end = min(start + _SAMPLE_LENGTH, end, len(self._table))
            self._sampled = end
            silent = [
                entry
                for entry in self._table.rows(start, end)
                if entry.current_txn_first_offset == NO_OFFSET
            ]
            if silent:
                self._forget(min(silent, key=attrgetter("timestamp")).producer_id)
                return

    def _put_to_work(self, state: ProducerState) -> None:
        at_work = self.at_work
        if len(at_work) >= self._at_work_max:
            self._pack_changed()
            for producer_id in list(islice(at_work, CHANGED_MAX)):
                self._put_to_rest(at_work.pop(producer_id))
        at_work[state.producer_id] = state

    def _put_to_rest(self, state: ProducerState) -> None:
        batches = state.batches
        if batches and (len(batches) > 1 or batches[0][3] != state.last_timestamp):
            packed = b"".join(_BATCH.pack(*batch) for batch in batches)
            self._batches.put(state.producer_id, packed)

    def _state_at_rest(self, entry: ProducerEntry) -> ProducerState:
        state = ProducerState(
            entry.producer_id,
            entry.producer_epoch,
            entry.coordinator_epoch,
            entry.timestamp,
            entry.current_txn_first_offset,
        )
        packed = self._batches.get(entry.producer_id)
        if packed is not None:
            state.batches += map(BatchMetadata._make, _BATCH.iter_unpack(packed))
        elif entry.last_offset >= 0:
            state.batches.append(_last_batch(entry))
        return state

    def _pieces(self) -> Iterator[tuple[int, int]]:
        for start in range(0, len(self._table), PIECE_LENGTH):
            yield start, min(start + PIECE_LENGTH, len(self._table))

    def _pack_changed(self) -> None:
        self._table.pack(self._changed)
        self._changed.clear()


def _last_batch(entry: ProducerEntry) -> BatchMetadata:
    return BatchMetadata(
        entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp
    )


def _has_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    """Whether the producer was silent for so long that it may be forgotten.

    Its silence is measured by the records' own times. One with an open transaction
    never expires.
    """
    is_silent = now_ms - entry.timestamp >= expiration_ms
    return is_silent and entry.current_txn_first_offset == NO_OFFSET
