"""Which transactions a pass over a log is in, and which of them were aborted.

A pass begins where all transactions are over, and reads data batches and markers in
their order. Records of an aborted transaction are of no use to anybody. A marker is of
no use once the pass has met no records of its transaction any more.
"""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from odradek.protocol.record_batch import BatchHeader
from odradek.storage.formats.transaction_entry import TransactionEntry

_first_offset = attrgetter("first_offset")


class CleanedTransactions:
    """The transactions at one place of a pass."""

    def __init__(self, aborted: Sequence[TransactionEntry]) -> None:
        """``aborted`` are the entries of the transaction indexes, in any order."""
        self._aborted = sorted(set(aborted), key=_first_offset)
        self._begun = 0  # of these, so many lie before the place
        self._open_aborted: dict[int, tuple[TransactionEntry, bool]] = {}
        self._open_committed: set[int] = set()

    def is_aborted(self, header: BatchHeader) -> bool:
        """Take in a data batch; whether its transaction was aborted."""
        self._move_to(header.last_offset)
        if not header.is_transactional:
            return False
        producer_id = header.producer_id
        known = self._open_aborted.get(producer_id)
        # One that is over: its marker was passed over, or is damaged.
        if known is None or known[0].last_offset < header.base_offset:
            self._open_committed.add(producer_id)
            return False
        self._open_aborted[producer_id] = known[0], True
        return True

    def end(
        self, header: BatchHeader, *, is_commit: bool
    ) -> tuple[bool, TransactionEntry | None]:
        """Take in a marker: whether there were records of its transaction.

        With them the index entry that readers still need, if it aborts.
        """
        self._move_to(header.last_offset)
        producer_id = header.producer_id
        if is_commit:
            had_records = producer_id in self._open_committed
            self._open_committed.discard(producer_id)
            return had_records, None
        entry, had_records = self._open_aborted.pop(producer_id, (None, False))
        return had_records, entry if had_records else None

    def _move_to(self, offset: int) -> None:
        aborted = self._aborted
        if self._begun == len(aborted) or aborted[self._begun].first_offset > offset:
            return
        behind = bisect_left(aborted, offset + 1, self._begun, key=_first_offset)
        for entry in aborted[self._begun : behind]:
            known = self._open_aborted.get(entry.producer_id)
            if known is None or known[0].last_offset < entry.first_offset:
                self._open_aborted[entry.producer_id] = entry, False
        self._begun = behind
