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

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

from odradek.protocol.control_records import read_marker
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    COMPRESSION_MASK,
    HAS_DELETE_HORIZON,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    pack_header,
    read_header,
    restamp_crc,
)
from odradek.protocol.records import assemble, encode_record, iterate, uncompressed
from odradek.storage.files.files import Buffer

from .cleaned_transactions import CleanedTransactions
from .map_builder import UNUSUAL
from .offset_map import Kept, OffsetMap
from .plan import CleaningPlan, CleaningStats
from .producer_ends import unpack_ends

if TYPE_CHECKING:
    from typing_extensions import Buffer as AnyBuffer

    from odradek.storage.formats.transaction_entry import TransactionEntry


class Retention:
    """Decides about the batches of a log in their order, from its first on."""

    def __init__(
        self, plan: CleaningPlan, offsets: OffsetMap, stats: CleaningStats
    ) -> None:
        self.aborted: list[TransactionEntry] = []  # that readers still need
        self._now_ms = self._tombstones_ms = plan.now_ms
        self._new_horizon_ms = plan.now_ms + plan.delete_retention_ms
        self._producers = unpack_ends(plan.producers)
        self._offsets = offsets
        self._ends = offsets.latest_offset, plan.end_offset - 1
        ends = (each.last_offset for each in self._producers.values())
        self._pinned = array("q", sorted({*self._ends, *ends}))
        self._target = bytearray()
        self._stats = stats
        self._transactions = CleanedTransactions(plan.aborted)

    def keep_tombstones(self) -> None:
        """No more of them expire: older values of their keys stay, in what was passed.

        Without the tombstone such a value would be the last of its key.
        """
        self._tombstones_ms = NO_TIMESTAMP

    def keep(self, batches: memoryview) -> Iterator[Buffer]:
        """What is written of batches that lie one behind another.

        What it yields holds until it is asked for more.
        """
        position = 0
        while position < len(batches):
            target, kept = self._filter(batches[position:], UNUSUAL)
            position += kept.position
            if kept.size:
                yield target[: kept.size]
            if kept.pending:
                last = self._finish(target[kept.size : kept.size + kept.pending])
            elif position < len(batches):
                header = read_header(batches, position)
                end = position + header.size
                last = self._keep_unusual(header, batches[position:end])
                position = end
            else:
                return
            if last is not None:
                yield last

    def _filter(
        self, batches: "AnyBuffer", stops_at: int = 0
    ) -> tuple[memoryview, Kept]:
        """Write what stays of them, up to the first that is not done so simply."""
        size = len(memoryview(batches))
        if len(self._target) < size:
            self._target = bytearray(size)
        target = memoryview(self._target)
        kept = self._offsets.keep(
            batches, target, self._pinned, self._tombstones_ms, stops_at
        )
        self._stats.records_read += kept.records_read
        self._stats.records_written += kept.records_kept
        self._stats.null_key_count += kept.null_key_count
        return target, kept

    def _finish(self, batch: memoryview) -> Buffer | None:
        """One that nothing is left of, or that keeps a tombstone for the first time."""
        header = read_header(batch)
        if header.records_count:
            return with_horizon(header, batch, self._new_horizon_ms)
        return empty_batch(header) if self._must_stay(header) else None

    def _keep_unusual(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        kept: Buffer | None = None
        if header.is_control:
            self._stats.records_read += header.records_count
            kept = self._keep_marker(header, batch)
        elif self._transactions.is_aborted(header):
            self._stats.records_read += header.records_count
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
        target, found = self._filter(uncompressed(batch, header))
        if not found.records_kept:
            return None
        kept = target[: found.size + found.pending]
        if found.pending:
            return with_horizon(header, kept, self._new_horizon_ms)
        if found.records_kept == header.records_count:
            return batch
        fields = read_header(kept)._replace(attributes=header.attributes)
        return assemble(fields, kept[BATCH_OVERHEAD:])


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


def with_horizon(header: BatchHeader, batch: Buffer, horizon_ms: int) -> bytearray:
    """A batch with this header, the records of ``batch``, and a delete horizon.

    The horizon takes the place of the base timestamp; records keep their times.
    """
    pieces = []
    latest = NO_TIMESTAMP
    for record in iterate(batch):
        delta = record.offset - header.base_offset
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
