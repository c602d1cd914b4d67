"""Which batches and records of a log stay, and how they are written anew.

A record stays when it is the last of its key, or behind what this round knows of. A
tombstone, the last of its key too, stays for a while more, so that readers learn of
it; a marker of which no records are left, likewise. The batch that holds one says in
its base timestamp until when (the *delete horizon*, KIP-534), from the first round on
that has kept it.

A batch that has lost all its records goes, but for three: the last of a producer,
whose sequence the next one must follow; a marker that alone says which epoch a
producer has; and the one at the end of the round, or of all that it might have cleaned:
readers that may go no further would not come to their end. They stay as a header.
"""

from typing import TYPE_CHECKING

from protocol.control_records import read_marker
from protocol.record_batch import (
    BATCH_OVERHEAD,
    COMPRESSION_MASK,
    HAS_DELETE_HORIZON,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    pack_header,
    restamp_crc,
)
from protocol.records import assemble, encode_record, index_rows, iterate
from protocol.records_plain import read_varint

from ..files import Buffer
from .cleaned_transactions import CleanedTransactions
from .offset_map import OffsetMap
from .plan import CleaningPlan, CleaningStats

if TYPE_CHECKING:
    from ..formats.transaction_entry import TransactionEntry


class Retention:
    """Decides about the batches of a log in their order, from its first on."""

    def __init__(
        self, plan: CleaningPlan, offsets: OffsetMap, stats: CleaningStats
    ) -> None:
        self.aborted: list[TransactionEntry] = []  # that readers still need
        self._now_ms = plan.now_ms
        self._new_horizon_ms = plan.now_ms + plan.delete_retention_ms
        self._producers = plan.producers
        self._offsets = offsets.offsets
        self._latest_offset = offsets.latest_offset
        self._ends = offsets.latest_offset, plan.end_offset - 1
        self._stats = stats
        self._transactions = CleanedTransactions(plan.aborted)

    def keep(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """What is written of a batch: itself, another one in its place, or None."""
        self._stats.records_read += header.records_count
        if header.is_control:
            kept = self._keep_marker(header, batch)
        elif self._transactions.is_aborted(header):
            kept = None
        else:
            kept = self._keep_records(header, batch)
        if kept is None and self._must_stay(header):
            return empty_batch(header)
        return kept

    def _must_stay(self, header: BatchHeader) -> bool:
        if header.last_offset in self._ends:
            return True
        end = self._producers.get(header.producer_id)
        if end is None:
            return False
        if end.last_offset >= 0:
            return header.last_offset == end.last_offset
        return header.is_control and header.producer_epoch == end.producer_epoch

    def _is_expired(self, header: BatchHeader) -> bool:
        horizon_ms = header.delete_horizon_ms
        return horizon_ms is not None and horizon_ms <= self._now_ms

    def _keep_marker(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        if not header.records_count:
            return None
        marker = read_marker(batch)
        if marker is None:  # of a kind that ends no transaction
            return batch
        had_records, entry = self._transactions.end(header, is_commit=marker.is_commit)
        if entry is not None:
            self.aborted.append(entry)
        if not had_records:
            if self._is_expired(header):
                return None
            if header.delete_horizon_ms is None:
                self._stats.records_written += 1
                return with_horizon(header, batch, self._new_horizon_ms)
        self._stats.records_written += 1
        return batch

    def _keep_records(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        offsets, latest_offset = self._offsets, self._latest_offset
        base_offset = header.base_offset
        keeps_tombstones = not self._is_expired(header)
        has_tombstone = False
        data, rows = index_rows(batch, header)
        deltas = []
        for _, delta, key_at, key_length, _, value_length in rows:
            offset = base_offset + delta
            if offset <= latest_offset:
                if key_length < 0:
                    self._stats.null_key_count += 1
                    continue
                if offset < offsets.get(data[key_at : key_at + key_length], offset):
                    continue
                if value_length < 0 and not keeps_tombstones:
                    continue
            if value_length < 0:
                has_tombstone = True
            deltas.append(delta)
        self._stats.records_written += len(deltas)
        if not deltas:
            return None
        sets_horizon = has_tombstone and header.delete_horizon_ms is None
        if sets_horizon:
            return with_horizon(header, batch, self._new_horizon_ms, set(deltas))
        if len(deltas) == header.records_count:
            return batch
        return with_records(header, batch, set(deltas))


def empty_batch(header: BatchHeader) -> bytearray:
    """The header of a batch without its records, as Apache Kafka writes it."""
    attributes = header.attributes & ~(COMPRESSION_MASK | HAS_DELETE_HORIZON)
    batch = bytearray(BATCH_OVERHEAD)
    pack_header(
        batch,
        header._replace(
            batch_length=BATCH_OVERHEAD - LOG_OVERHEAD,
            attributes=attributes,
            base_timestamp=NO_TIMESTAMP,
            records_count=0,
        ),
    )
    restamp_crc(batch)
    return batch


def with_records(header: BatchHeader, batch: Buffer, kept: set[int]) -> bytearray:
    """The batch with the records at these offset deltas alone, each as it is."""
    data, rows = index_rows(batch, header)
    pieces, times = [], []
    position, size = 0, len(data)
    for timestamp_delta, delta, *_ in rows:
        length, start = read_varint(data, position, size)
        end = start + length
        if delta in kept:
            pieces.append(data[position:end])
            times.append(timestamp_delta)
        position = end
    max_timestamp = header.max_timestamp
    if times and not header.is_log_append_time:
        max_timestamp = header.base_timestamp + max(times)
    return assemble(
        header._replace(max_timestamp=max_timestamp, records_count=len(pieces)),
        b"".join(pieces),
    )


def with_horizon(
    header: BatchHeader, batch: Buffer, horizon_ms: int, kept: set[int] | None = None
) -> bytearray:
    """The batch with a delete horizon, of all its records or of those ``kept``.

    The horizon takes the place of the base timestamp; records keep their times.
    """
    pieces = []
    latest = NO_TIMESTAMP
    for record in iterate(batch):
        delta = record.offset - header.base_offset
        if kept is None or delta in kept:
            latest = max(latest, record.timestamp)
            pieces.append(encode_record(delta, record.timestamp - horizon_ms, record))
    return assemble(
        header._replace(
            attributes=header.attributes | HAS_DELETE_HORIZON,
            base_timestamp=horizon_ms,
            max_timestamp=header.max_timestamp if header.is_log_append_time else latest,
            records_count=len(pieces),
        ),
        b"".join(pieces),
    )
