"""The end of the metadata log as an observer holds it: what is not committed yet.

Invariants: offsets have no gaps, epochs do not fall. Everything in front of the tail
is committed, and is applied; a leader that wants it back has another history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.record_batch import BATCH_OVERHEAD, check_crc, read_header

from .image.error import MetadataLogError

if TYPE_CHECKING:
    from odradek.protocol.primitives import Buffer
    from odradek.protocol.record_batch import BatchHeader


class HeldBatch(NamedTuple):
    """A batch that may still be taken back."""

    header: BatchHeader
    data: bytes


class Tail:
    """Batches above the high watermark."""

    def __init__(self, start_offset: int = 0, epoch: int = 0) -> None:
        self._batches: list[HeldBatch] = []
        self.start_offset = start_offset
        self._start_epoch = epoch

    @property
    def end_offset(self) -> int:
        """Where to read on."""
        if self._batches:
            return self._batches[-1].header.next_offset
        return self.start_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch; 0 where there never was one."""
        if self._batches:
            return self._batches[-1].header.partition_leader_epoch
        return self._start_epoch

    def restart(self, offset: int, epoch: int) -> None:
        """Everything below ``offset`` is there, from a snapshot."""
        self._batches.clear()
        self.start_offset, self._start_epoch = offset, epoch

    def append(self, records: Buffer) -> None:
        """Take the whole batches in ``records``; the last may be cut short.

        Raises:
            MetadataLogError: they do not continue the log, or are damaged.
        """
        view, position = memoryview(records), 0
        while position + BATCH_OVERHEAD <= len(view):
            header = read_header(view, position)
            batch = view[position : position + header.size]
            if header.size < BATCH_OVERHEAD:
                raise MetadataLogError(f"a batch of {header.size} bytes")
            if len(batch) < header.size:
                break
            self._check(header, batch)
            self._batches.append(HeldBatch(header, bytes(batch)))
            position += header.size

    def _check(self, header: BatchHeader, batch: memoryview) -> None:
        if header.base_offset != self.end_offset:
            raise MetadataLogError(
                f"a batch of offset {header.base_offset}, where {self.end_offset} was"
                " to come"
            )
        if header.partition_leader_epoch < self.last_epoch:
            raise MetadataLogError(
                f"offset {header.base_offset}: epoch {header.partition_leader_epoch}"
                f" behind {self.last_epoch}"
            )
        if header.last_offset_delta < 0 or not check_crc(batch, header):
            raise MetadataLogError(f"offset {header.base_offset}: a damaged batch")

    def committed(self, high_watermark: int) -> list[HeldBatch]:
        """Take out what is below ``high_watermark``, in order."""
        count = 0
        for each in self._batches:
            if each.header.next_offset > high_watermark:
                break
            count += 1
        taken, self._batches = self._batches[:count], self._batches[count:]
        if taken:
            last = taken[-1].header
            self.start_offset = last.next_offset
            self._start_epoch = last.partition_leader_epoch
        return taken

    def cut(self, epoch: int, end_offset: int) -> None:
        """Drop what the leader does not have, whose ``epoch`` ends at ``end_offset``.

        Raises:
            MetadataLogError: that is committed here.
        """
        ours = self.start_offset if self._start_epoch <= epoch else -1
        for each in self._batches:
            if each.header.partition_leader_epoch <= epoch:
                ours = each.header.next_offset
        end = min(ours, end_offset)
        if end < self.start_offset:
            raise MetadataLogError(
                f"the leader's log parts from ours at epoch {epoch}, offset"
                f" {end_offset}, below offset {self.start_offset}, which is committed"
            )
        while self._batches and self._batches[-1].header.next_offset > end:
            self._batches.pop()
