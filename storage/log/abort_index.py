"""Which transactions of a log were aborted.

The segment with a transaction's marker has an entry of it in its transaction index.

Invariant: a marker that aborts a transaction is in the log with its entry, or not at
all; when the disk fails between the two, the log must fail.
"""

from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.record_batch import BatchHeader, scan
from odradek.storage.files.files import Buffer, StorageFailure
from odradek.storage.formats.transaction_entry import TransactionEntry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.local.aborted_transactions import collect_aborted
from odradek.storage.local.segments import LogSegments
from odradek.storage.producers.state import NO_OFFSET
from odradek.storage.producers.states import CompletedTransaction
from odradek.storage.values.log_read import AbortedTransaction, FetchedData
from odradek.storage.values.offset_metadata import OffsetMetadata

from .state import LogState


class AbortIndex:
    """The transaction indexes of all segments of a log as one."""

    __slots__ = ("_last_abort_offset", "_state")

    def __init__(self, state: LogState) -> None:
        self._state = state
        # No transaction index says more of markers behind it. None: not looked yet.
        self._last_abort_offset: int | None = None

    def note_marker(
        self, header: BatchHeader, batch: Buffer, offset: int, now_ms: int
    ) -> None:
        """Write the entry of a marker that was just written, if it needs one.

        The log end is behind the marker then, its transaction still an open one. When
        there is no room for the entry, the marker is cut off again.

        Raises:
            DiskFull, KafkaStorageError: the log is as it was.
            StorageFailure: the marker is there without its entry.
        """
        entry = self._entry_of(header, batch, offset)
        if entry is None:
            return
        local = self._state.local
        try:
            is_new_file = local.active.transactions.append(entry)
        except StorageFailure:
            raise
        except KafkaStorageError:  # no room, or too many open files
            local.truncate_to(offset, now_ms)
            raise
        except CorruptIndex as error:
            raise StorageFailure(str(error)) from error
        if self._last_abort_offset is not None:
            self._last_abort_offset = offset
        if is_new_file:
            self._state.unsynced.note_new_name()

    def _entry_of(
        self, header: BatchHeader, batch: Buffer, offset: int
    ) -> TransactionEntry | None:
        producer_id, producers = header.producer_id, self._state.producers
        state = producers.get(producer_id)
        if state is None or not state.has_transaction:
            return None
        marker = read_marker(batch)
        if marker is None or marker.is_commit:
            return None
        first_offset = state.current_txn_first_offset
        completed = CompletedTransaction(producer_id, first_offset, offset, True)
        stable = producers.last_stable_offset(completed)
        return TransactionEntry(producer_id, first_offset, offset, stable)

    def aborted_in(
        self, data: FetchedData, limit: OffsetMetadata
    ) -> list[AbortedTransaction]:
        """The aborted transactions with records in ``data``, which ends by ``limit``.

        Raises:
            KafkaStorageError: nobody knows.
        """
        if not len(data.records):
            return []
        segments, upper_bound = self._state.local.segments, limit.offset
        offset, base_offset, _ = data.offset_metadata
        following = segments.higher(base_offset)
        if following is not None:
            upper_bound = min(upper_bound, following.base_offset)
        try:
            if self._last_abort_offset is None:
                self._last_abort_offset = _last_abort_offset(segments)
            if offset > self._last_abort_offset:
                return []  # as in most logs always: no walk over the segments
            found = collect_aborted(segments, offset, upper_bound)
        except CorruptIndex as error:
            raise KafkaStorageError(str(error)) from error
        if found:  # seldom, so only then it is asked where the bytes end
            upper_bound = offset
            for _, header in scan(data.records):
                upper_bound = header.next_offset
        return [each for each in found if each.first_offset < upper_bound]

    def has_aborted(self, producer_id: int, offset: int) -> bool:
        """Whether the producer's transaction with a record at ``offset`` was aborted.

        Raises:
            KafkaStorageError: nobody knows.
        """
        try:
            found = collect_aborted(self._state.local.segments, offset, offset + 1)
        except CorruptIndex as error:
            raise KafkaStorageError(str(error)) from error
        return any(each.producer_id == producer_id for each in found)


def _last_abort_offset(segments: LogSegments) -> int:
    """The offset of the last marker that aborted a transaction; -1 without any."""
    last = NO_OFFSET
    for segment in segments:
        for entry in segment.transactions.entries()[-1:]:
            last = entry.last_offset
    return last
