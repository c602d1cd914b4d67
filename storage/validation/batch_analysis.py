"""What a follower has to know of the batches that its leader sent, before it writes.

They come as the leader has them: with offsets and epochs, many at once, the last one
maybe cut. Their records were validated when they were produced, so only what can
happen on the way is looked at: shape, checksums, order.
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import CURRENT_MAGIC, BatchHeader, check_crc, scan
from odradek.storage.files.files import Buffer

NO_OFFSET = -1
_SHOWN = 10


class OffsetsOutOfOrder(Exception):
    """The offsets of the batches do not increase from one to the next."""


class UnexpectedAppendOffset(Exception):
    """The first batch begins below the log end."""

    def __init__(self, found: "BatchAnalysis", log_start: int, log_end: int) -> None:
        super().__init__(
            f"batches at offsets {_first_offsets(found.batches)} up to"
            f" {found.last_offset}, but the log, which starts at {log_start}, ends at"
            f" {log_end}"
        )
        self.first_offset = found.first_offset
        self.last_offset = found.last_offset


class BatchAnalysis(NamedTuple):
    """Positions and headers of whole batches, and what they come to together.

    ``valid_size`` leaves out a last batch that was cut. ``offset_of_max_timestamp`` is
    the last offset of the batch that holds the largest timestamp.
    """

    batches: Sequence[tuple[int, BatchHeader]]
    valid_size: int = 0
    first_offset: int = NO_OFFSET
    last_offset: int = NO_OFFSET
    max_timestamp: int = -1
    offset_of_max_timestamp: int = NO_OFFSET

    def up_to_epoch(self, epoch_max: int) -> "BatchAnalysis":
        """Of those before the first one whose leader epoch is above ``epoch_max``."""
        for index, (_, header) in enumerate(self.batches):
            if header.partition_leader_epoch > epoch_max:
                return _sum_up(self.batches[:index])
        return self


def analyse(data: Buffer) -> BatchAnalysis:
    """The whole batches in ``data``; none when not even the first one is all there.

    Raises:
        CorruptMessage: an impossible length, another format, a wrong checksum.
        OffsetsOutOfOrder: a batch does not begin behind the one before it.
    """
    view = memoryview(data)
    batches = list(scan(view))
    if not batches:
        return BatchAnalysis(())
    next_offset = batches[0][1].base_offset
    for position, header in batches:
        if header.magic != CURRENT_MAGIC or not check_crc(view[position:], header):
            raise CorruptMessage(f"the batch at offset {header.base_offset} is damaged")
        if header.base_offset < next_offset or header.last_offset_delta < 0:
            raise OffsetsOutOfOrder(
                f"a batch at offset {header.base_offset} after {next_offset - 1}; the"
                f" batches are at offsets {_first_offsets(batches)}"
            )
        next_offset = header.next_offset
    return _sum_up(batches)


def _sum_up(batches: Sequence[tuple[int, BatchHeader]]) -> BatchAnalysis:
    if not batches:
        return BatchAnalysis(())
    latest = (-1, NO_OFFSET)
    for _, header in batches:
        if header.max_timestamp > latest[0]:
            latest = (header.max_timestamp, header.last_offset)
    position, last = batches[-1]
    return BatchAnalysis(
        batches,
        position + last.size,
        batches[0][1].base_offset,
        last.last_offset,
        *latest,
    )


def _first_offsets(batches: Sequence[tuple[int, BatchHeader]]) -> str:
    shown = [str(header.base_offset) for _, header in batches[:_SHOWN]]
    return ", ".join([*shown, "..."] if len(batches) > _SHOWN else shown)
