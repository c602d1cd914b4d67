"""All producers of a partition, and the transactions that they have open in it.

Kafka's ProducerStateManager. ``map_end_offset`` says how far the log was applied.

Invariants: ``ongoing`` holds exactly the producers with an open transaction, in the
order in which they were opened. A transaction that ended stays in ``unreplicated``
until the high watermark has passed its marker, because until then a reader of
committed records must not pass its first record. ``verifications`` are transactions
that have not begun here, and wait for their coordinator's word.
"""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import InvalidTxnState
from odradek.protocol.record_batch import CONTROL, TRANSACTIONAL
from odradek.storage.files.files import Buffer, Files
from odradek.storage.formats.producer_entry import ProducerEntry, unpack_entries

from .append import check_data_batch, check_marker, check_not_fenced, find_duplicate
from .append_info import AppendOrigin
from .known import KnownProducers
from .marker import read_written_marker
from .snapshot import list_snapshots, read_newest, snapshot_path
from .state import NO_OFFSET, BatchMetadata, ProducerState
from .table import ProducerPicture
from .verification_state import VerificationGuard, VerificationStates

if TYPE_CHECKING:
    from odradek.protocol.record_batch import BatchHeader

_LATE_MS = 300_000

_new = tuple.__new__


class CompletedTransaction(NamedTuple):
    """A transaction that its marker ended; ``last_offset`` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStates:
    """The producers of one partition as its log has them up to ``map_end_offset``."""

    def __init__(self, expiration_ms: int, verifies: bool = False) -> None:
        """``verifies``: records of a transaction need a guard to be its first here."""
        self.expiration_ms = expiration_ms
        self.verifies = verifies
        self.verifications = VerificationStates()
        self.map_end_offset = 0
        self.first_unstable_offset = NO_OFFSET
        self._known = KnownProducers()
        self._at_work = self._known.at_work
        self._ongoing: dict[int, int] = {}  # first offset by producer id
        self._unreplicated: dict[int, int] = {}  # marker's offset by first offset

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[ProducerState]:
        return iter(self._known)

    def belong_to(self, owner: object) -> None:
        """What lines in the log call the partition."""
        self._known.owner = owner

    def get(self, producer_id: int) -> ProducerState | None:
        """What is known of a producer; None when nothing is."""
        return self._known.get(producer_id)

    def with_transactions(self) -> list[ProducerState]:
        """The producers that have a transaction open here."""
        return [state for each in self._ongoing if (state := self.get(each))]

    def start_verification(
        self,
        producer_id: int,
        sequence: int,
        producer_epoch: int,
        now_ms: int,
        epoch_bump: bool = False,
    ) -> VerificationGuard | None:
        """The guard that a batch of a transaction must show when it is appended.

        None when it needs none, because its transaction is open here. ``epoch_bump``:
        the client begins each transaction with an epoch of its own.

        Raises:
            InvalidProducerEpoch: a newer instance of the producer has written here.
        """
        state = self._known.get(producer_id)
        if state is not None:
            if state.producer_epoch != producer_epoch:
                check_not_fenced(state, producer_epoch)
            elif state.current_txn_first_offset != NO_OFFSET:
                return None
            else:
                # A late copy of what is written announces nothing. Apache Kafka takes
                # it in, and misses a batch when the producer goes on.
                sequence = state.unwritten(sequence)
        return self.verifications.start(
            producer_id, sequence, producer_epoch, now_ms, epoch_bump
        )

    def check(
        self,
        header: "BatchHeader",
        batch: Buffer,
        origin: AppendOrigin,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> BatchMetadata | None:
        """Let a producer's batch pass, or say which one it repeats.

        Raises:
            KafkaError: what `append` refuses.
            InvalidTxnState: it would begin a transaction that was not verified.
        """
        producer_id, attributes = header.producer_id, header.attributes
        state = self._known.get(producer_id)
        if attributes & CONTROL:
            marker = read_marker(batch)
            if marker is not None:
                epoch = marker.coordinator_epoch
                check_marker(state, header, epoch, origin, transaction_version)
            return None
        if (
            attributes & TRANSACTIONAL
            and self.verifies
            and origin is not AppendOrigin.REPLICATION
            and (state is None or not state.is_in_transaction(header.producer_epoch))
            and not self.verifications.is_verified(producer_id, guard)
        ):
            if origin is AppendOrigin.CLIENT and state is not None:
                duplicate = find_duplicate(state, header)
                if duplicate is not None:
                    return duplicate
            raise InvalidTxnState(
                f"the batch would begin a transaction of producer {producer_id}, and"
                " the coordinator's word that it is open is missing or out of date"
            )
        if not self.verifications:  # mostly: that is seen without a call
            return check_data_batch(state, header, origin)
        awaited = self.verifications.get(producer_id)
        return check_data_batch(state, header, origin, awaited)

    def follows(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        in_transaction: bool = False,
        guard: VerificationGuard | None = None,
    ) -> ProducerState | None:
        """The producer, when a batch is its next one and nothing is to be checked.

        The caller may add the batch to it at once. With a guard a transaction is to
        `begin` with it.
        """
        if guard is not None:
            state = self._known.get(producer_id)
            number = base_sequence, producer_epoch
            if state is None or not self.verifications.lets_begin(
                state, *number, guard
            ):
                return None
            return self._changing(producer_id)
        if self.verifications:
            return None
        state = self._at_work.get(producer_id) or self._known.get(producer_id)
        if state is None or not state.takes_next(
            producer_epoch, base_sequence, in_transaction
        ):
            return None
        if state.is_packed:
            self._known.note_change(state)
        return state

    def ending(self, producer_id: int) -> ProducerState | None:
        """The producer, about to change, if nothing else waits for its marker here."""
        if self.verifications or producer_id not in self._ongoing:
            return None
        return self._changing(producer_id)

    def begin(self, state: ProducerState, first_offset: int) -> None:
        """A producer's transaction is open from here on."""
        if self.verifications:
            self.verifications.end(state.producer_id, state.producer_epoch, False)
        state.current_txn_first_offset = first_offset
        self._ongoing[state.producer_id] = first_offset
        self._find_first_unstable()

    def add(
        self, header: "BatchHeader", batch: Buffer, base_offset: int, max_timestamp: int
    ) -> CompletedTransaction | None:
        """Note a producer's batch that was written at ``base_offset``.

        Returns the transaction that it ends, which is then to be `complete`d; None
        also for a marker whose transaction wrote nothing here.
        """
        producer_id, attributes = header.producer_id, header.attributes
        if attributes & TRANSACTIONAL and self.verifications:
            is_marker = header.is_control
            self.verifications.end(producer_id, header.producer_epoch, is_marker)
        if attributes & CONTROL:
            return self._add_marker(header, batch, base_offset, max_timestamp)
        state = self._changing(producer_id)
        delta = header.last_offset_delta
        # The tuple's own constructor takes half the time of the class's.
        added = (header.last_sequence, base_offset + delta, delta, max_timestamp)
        state.add_batch(header.producer_epoch, _new(BatchMetadata, added))
        if attributes & TRANSACTIONAL and state.current_txn_first_offset == NO_OFFSET:
            self.begin(state, base_offset)
        return None

    def _add_marker(
        self, header: "BatchHeader", batch: Buffer, offset: int, timestamp: int
    ) -> CompletedTransaction | None:
        marker = read_written_marker(header, batch)
        if marker is None:
            return None
        producer_id = header.producer_id
        state = self._changing(producer_id)
        first_offset = state.current_txn_first_offset
        epoch = header.producer_epoch
        state.end_transaction(epoch, marker.coordinator_epoch, timestamp)
        if first_offset == NO_OFFSET:
            return None
        return CompletedTransaction(
            producer_id, first_offset, offset, not marker.is_commit
        )

    def replay(
        self, header: "BatchHeader", batch: Buffer
    ) -> CompletedTransaction | None:
        """Note a batch that the log holds, when it is behind ``map_end_offset``.

        Returns the transaction that it ends, as `add`. A marker that makes no sense
        ends none.
        """
        if header.base_offset < self.map_end_offset:
            return None
        self.map_end_offset = header.next_offset
        if header.producer_id < 0:
            return None
        return self.add(header, batch, header.base_offset, header.max_timestamp)

    def end_transaction(
        self, producer_id: int, marker_offset: int
    ) -> CompletedTransaction | None:
        """End a transaction whose marker cannot be read any more: it was aborted.

        The transaction index knows of it. Returns what is then to be `complete`d;
        None when no transaction of the producer is open.
        """
        state = self._known.get(producer_id)
        if state is None or not state.has_transaction:
            return None
        first_offset = self._changing(producer_id).current_txn_first_offset
        state.current_txn_first_offset = NO_OFFSET
        return CompletedTransaction(producer_id, first_offset, marker_offset, True)

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """Where committed reads could go to, were ``completed`` replicated."""
        for producer_id, first_offset in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """Take a transaction out of the open ones."""
        del self._ongoing[completed.producer_id]
        self._unreplicated[completed.first_offset] = completed.last_offset
        self._find_first_unstable()

    def has_late_transaction(self, now_ms: int, timeout_max_ms: int) -> bool:
        """Whether the oldest open transaction should have been ended long ago.

        Its coordinator ends every transaction after ``timeout_max_ms`` at the latest,
        and has five minutes more to write the marker. Then none will come (KIP-664).
        """
        for producer_id in self._ongoing:
            state = self._known.get(producer_id)
            timestamp = -1 if state is None else state.last_timestamp
            return timestamp > 0 and now_ms - timestamp > timeout_max_ms + _LATE_MS
        return False

    def on_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions whose marker lies below the watermark."""
        if self._unreplicated:
            self._unreplicated = {
                first: last
                for first, last in self._unreplicated.items()
                if last >= high_watermark
            }
            self._find_first_unstable()

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """Note that everything below is gone. The producers stay."""
        self.on_high_watermark(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)

    def remove_expired(self, now_ms: int) -> Iterator[None]:
        """Forget producers that were silent for too long, in steps.

        Between two steps others have their turn, and everything may change.
        Verifications that began too long ago end too: nothing came of them.
        """
        self.verifications.remove_expired(now_ms, self.expiration_ms)
        return self._known.remove_expired(now_ms, self.expiration_ms)

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.map_end_offset = 0
        self.first_unstable_offset = NO_OFFSET

    def picture(self) -> ProducerPicture:
        """The content of a snapshot of now. Costs little, however many there are."""
        return self._known.picture()

    def encode(self) -> bytes:
        """The same as bytes: for those who need not hurry."""
        return self.picture().encode()

    def load(self, entries: Iterable[ProducerEntry], offset: int, now_ms: int) -> None:
        """Start from a snapshot taken at ``offset``, without the expired producers."""
        self.clear()
        with_transactions = self._known.load(entries, now_ms, self.expiration_ms)
        self._ongoing = {
            state.producer_id: state.current_txn_first_offset
            for state in sorted(
                with_transactions, key=attrgetter("current_txn_first_offset")
            )
        }
        self.map_end_offset = offset
        self._find_first_unstable()

    def truncate_and_reload(
        self,
        files: Files,
        directory: Path,
        log_start_offset: int,
        log_end_offset: int,
        now_ms: int,
    ) -> None:
        """Go back to what is known without the log above ``log_end_offset``.

        Snapshots outside the log are removed: above its end, or not above its start.
        Unless everything up to the log end was applied, and nothing behind it, the
        producers are those of the newest snapshot that is left; what lies from
        ``map_end_offset`` on is then to be replayed.
        """
        for offset in list_snapshots(files, directory):
            if not log_start_offset < offset <= log_end_offset:
                files.unlink(snapshot_path(directory, offset))
        if self.map_end_offset == log_end_offset:
            self.on_log_start_offset(log_start_offset)
        elif not load_newest_snapshot(files, directory, self, log_end_offset, now_ms):
            self.map_end_offset = log_start_offset

    def _changing(self, producer_id: int) -> ProducerState:
        """A producer that is about to change, a new one if it is not known."""
        state = self._known.get(producer_id)
        if state is None:
            return self._known.add(producer_id)
        if state.is_packed:
            self._known.note_change(state)
        return state

    def _find_first_unstable(self) -> None:
        # Both are in no order that helps: open transactions are few.
        firsts = [*self._ongoing.values(), *self._unreplicated]
        self.first_unstable_offset = min(firsts, default=NO_OFFSET)


def load_newest_snapshot(
    files: Files, directory: Path, states: ProducerStates, limit: int, now_ms: int
) -> bool:
    """Fill ``states`` from the newest readable snapshot at or below ``limit``.

    Returns False, with ``states`` empty, when there is none.
    """
    states.clear()
    found = read_newest(files, directory, limit)
    if found is None:
        return False
    states.load(unpack_entries(found.packed), found.offset, now_ms)
    return True
