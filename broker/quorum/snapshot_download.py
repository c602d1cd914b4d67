"""A snapshot of the metadata log, as it comes piece by piece.

Its batches count from offset 0, which means nothing. The first holds a header, the
last a footer; without the footer it is not whole.
"""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.control_records import ControlType, decode_key
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import BATCH_OVERHEAD, check_crc, read_header
from odradek.protocol.records import iterate

from .image.error import MetadataLogError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.protocol.primitives import Buffer
    from odradek.protocol.record_batch import BatchHeader

    from .image.replay import Replay


class SnapshotName(NamedTuple):
    """Which state it is: of everything below ``end_offset``."""

    end_offset: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.end_offset:020}-{self.epoch:010}"


class SnapshotDownload:
    """The pieces of one snapshot."""

    def __init__(self, name: SnapshotName) -> None:
        self.name = name
        self._data = bytearray()

    @property
    def position(self) -> int:
        """How much is there."""
        return len(self._data)

    def take(self, position: int, piece: Buffer, size: int) -> bool:
        """Add a piece. Returns whether it was the last.

        Raises:
            MetadataLogError: it is no continuation.
        """
        end = position + len(piece)
        if position != self.position or not position < end <= size:
            raise MetadataLogError(
                f"snapshot {self.name}: positions {position} to {end} of {size} came,"
                f" {self.position} was to come"
            )
        self._data += piece
        return end == size

    def batches(self) -> list[tuple[BatchHeader, memoryview]]:
        """The batches of all that came.

        Raises:
            MetadataLogError: one is damaged, or cut short.
        """
        view, position, found = memoryview(bytes(self._data)), 0, []
        while position < len(view):
            if position + BATCH_OVERHEAD > len(view):
                raise MetadataLogError(f"snapshot {self.name} ends inside a batch")
            header = read_header(view, position)
            batch = view[position : position + header.size]
            if header.size < BATCH_OVERHEAD or not check_crc(batch, header):
                raise MetadataLogError(
                    f"snapshot {self.name} is damaged at position {position}"
                )
            found.append((header, batch))
            position += header.size
        return found


def replay_snapshot(
    replay: Replay,
    name: SnapshotName,
    batches: Iterable[tuple[BatchHeader, memoryview]],
) -> None:
    """Begin anew with the state of a snapshot.

    Raises:
        MetadataLogError: it is not whole, or cannot be read.
    """
    whole = list(batches)
    if not any(starmap(is_footer, whole)):
        raise MetadataLogError(f"snapshot {name} has no footer: it is not whole")
    replay.begin_snapshot(name.end_offset, name.epoch)
    for header, batch in whole:
        replay.apply(header, batch)
    replay.end_snapshot()


def is_footer(header: BatchHeader, batch: Buffer) -> bool:
    """Whether this is the batch that ends a snapshot."""
    try:
        return header.is_control and any(
            decode_key(record.key) is ControlType.SNAPSHOT_FOOTER
            for record in iterate(batch)
        )
    except KafkaError:
        return False
