"""What a read of the log gives back, and up to where a reader may see."""

from enum import Enum
from typing import NamedTuple

from odradek.storage.files.files import Buffer

from .offset_metadata import OffsetMetadata


class FetchIsolation(Enum):
    """The offset below which a reader sees records."""

    LOG_END = "log_end"
    HIGH_WATERMARK = "high_watermark"
    TXN_COMMITTED = "txn_committed"


class AbortedTransaction(NamedTuple):
    """A transaction whose records a committed reader must skip."""

    producer_id: int
    first_offset: int


class FetchedData(NamedTuple):
    """Bytes of whole batches, the last of which may be cut.

    ``offset_metadata`` keeps the offset that was asked for, with the position of
    the batch that holds it. ``first_batch_incomplete`` says that the size limit is
    smaller than that batch. ``aborted`` is None except for committed readers.
    """

    offset_metadata: OffsetMetadata
    records: Buffer
    first_batch_incomplete: bool = False
    aborted: list[AbortedTransaction] | None = None


class SegmentRead(NamedTuple):
    """What a read of a segment found: batches from ``position`` on, the last maybe cut.

    ``first_batch_incomplete`` as in `FetchedData`.
    """

    position: int
    records: Buffer
    first_batch_incomplete: bool


def nothing_at(metadata: OffsetMetadata) -> FetchedData:
    """A read that found its place and no bytes."""
    return FetchedData(metadata, b"")


class TimestampOffset(NamedTuple):
    """A record's timestamp and offset, and the leader epoch of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int = -1
