"""All producers of a partition, and the transactions that they have open in it.

Kafka's ProducerStateManager. ``map_end_offset`` says how far the log was applied.

Invariants: ``ongoing`` holds exactly the producers with an open transaction, by its
first offset, which is the order in which they were opened. A transaction that ended
stays in ``unreplicated`` until the high watermark has passed its marker, because
until then a reader of committed records must not pass its first record.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from protocol.control_records import read_marker

from .append_info import AppendOrigin
from .files import Buffer, Files
from .producer_append import check_data_batch, check_marker
from .producer_snapshot import (
    SnapshotCorrupt,
    decode_snapshot,
    encode_snapshot,
    list_snapshots,
    snapshot_path,
)
from .producer_state import NO_OFFSET, BatchMetadata, ProducerState

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader

_log = logging.getLogger(__name__)


class CompletedTransaction(NamedTuple):
    """A transaction that its marker ended; ``last_offset`` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStates:
    """The producers of one partition as its log has them up to ``map_end_offset``."""

    def __init__(self, expiration_ms: int) -> None:
        self.expiration_ms = expiration_ms
        self.map_end_offset = 0
        self.first_unstable_offset = NO_OFFSET
        self._producers: dict[int, ProducerState] = {}
        self._ongoing: dict[int, int] = {}
        self._unreplicated: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[ProducerState]:
        return iter(self._producers.values())

    def get(self, producer_id: int) -> ProducerState | None:
        """What is known of a producer; None when nothing is."""
        return self._producers.get(producer_id)

    def check(
        self, header: "BatchHeader", batch: Buffer, origin: AppendOrigin
    ) -> BatchMetadata | None:
        """Let a producer's batch pass, or say which one it repeats.

        Raises:
            KafkaError: what `producer_append` refuses.
        """
        state = self._producers.get(header.producer_id)
        if not header.is_control:
            return check_data_batch(state, header, origin)
        marker = read_marker(batch)
        if marker is not None:
            check_marker(state, header, marker.coordinator_epoch)
        return None

    def add(
        self, header: "BatchHeader", batch: Buffer, base_offset: int, max_timestamp: int
    ) -> CompletedTransaction | None:
        """Note a producer's batch that was written at ``base_offset``.

        Returns the transaction that it ends, which is then to be `complete`d; None
        also for a marker whose transaction wrote nothing here.
        """
        state = self._producers.get(header.producer_id)
        if state is None:
            state = ProducerState(header.producer_id)
            self._producers[header.producer_id] = state
        if header.is_control:
            return _end_transaction(state, header, batch, base_offset, max_timestamp)
        delta = header.last_offset_delta
        state.add_batch(
            header.producer_epoch,
            BatchMetadata(
                header.last_sequence, base_offset + delta, delta, max_timestamp
            ),
        )
        if header.is_transactional and not state.has_transaction:
            state.current_txn_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id
            self._find_first_unstable()
        return None

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """Where committed reads could go to, were ``completed`` replicated."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """Take a transaction out of the open ones."""
        del self._ongoing[completed.first_offset]
        self._unreplicated[completed.first_offset] = completed.last_offset
        self._find_first_unstable()

    def on_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions whose marker lies below the watermark."""
        if not self._unreplicated:
            return
        self._unreplicated = {
            first: last
            for first, last in self._unreplicated.items()
            if last >= high_watermark
        }
        self._find_first_unstable()

    def on_log_start_offset(self, log_start_offset: int) -> None:
        """Note that everything below is gone. The producers stay."""
        self._unreplicated = {
            first: last
            for first, last in self._unreplicated.items()
            if first >= log_start_offset
        }
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self._find_first_unstable()

    def remove_expired(self, now_ms: int) -> int:
        """Forget producers that were silent for too long; returns how many."""
        expired = [
            producer_id
            for producer_id, state in self._producers.items()
            if state.has_expired(now_ms, self.expiration_ms)
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)

    def clear(self) -> None:
        """Forget everything."""
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.map_end_offset = 0
        self.first_unstable_offset = NO_OFFSET

    def encode(self) -> bytes:
        """The content of a snapshot of now."""
        return encode_snapshot(self._producers.values())

    def load(
        self, producers: Iterable[ProducerState], offset: int, now_ms: int
    ) -> None:
        """Start from a snapshot taken at ``offset``, without the expired producers."""
        self.clear()
        for state in producers:
            if state.has_expired(now_ms, self.expiration_ms):
                continue
            self._producers[state.producer_id] = state
        self._ongoing = {
            state.current_txn_first_offset: state.producer_id
            for state in sorted(
                filter(lambda state: state.has_transaction, self),
                key=lambda state: state.current_txn_first_offset,
            )
        }
        self.map_end_offset = offset
        self._find_first_unstable()

    def _find_first_unstable(self) -> None:
        # Both are in no order that helps: open transactions are few.
        firsts = [*self._ongoing, *self._unreplicated]
        self.first_unstable_offset = min(firsts, default=NO_OFFSET)


def _end_transaction(
    state: ProducerState,
    header: "BatchHeader",
    batch: Buffer,
    offset: int,
    timestamp: int,
) -> CompletedTransaction | None:
    marker = read_marker(batch)
    if marker is None:
        return None
    first_offset = state.current_txn_first_offset
    state.end_transaction(header.producer_epoch, marker.coordinator_epoch, timestamp)
    if first_offset == NO_OFFSET:
        return None
    return CompletedTransaction(
        header.producer_id, first_offset, offset, not marker.is_commit
    )


def load_newest_snapshot(
    files: Files, directory: Path, states: ProducerStates, limit: int, now_ms: int
) -> bool:
    """Fill ``states`` from the newest readable snapshot at or below ``limit``.

    One that cannot be read is removed with a warning, and the one before it tried.
    Returns False, with ``states`` empty, when there is none.
    """
    states.clear()
    for offset in reversed(list_snapshots(files, directory)):
        if offset > limit:
            continue
        path = snapshot_path(directory, offset)
        try:
            producers = decode_snapshot(files.read_bytes(path))
        except SnapshotCorrupt as error:
            _log.warning("producer snapshot %s is damaged (%s), removed", path, error)
            files.unlink(path)
            continue
        states.load(producers, offset, now_ms)
        return True
    return False
