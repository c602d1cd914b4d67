"""What a round must know of producers, packed: a log may have very many of them."""

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from odradek.storage.formats.producer_entry import unpack_entries

if TYPE_CHECKING:
    from odradek.storage.log.unified_log import UnifiedLog

_END = Struct("<qqh")


class ProducerEnd(NamedTuple):
    """The last that a log knows of a producer: its data, or only its epoch.

    ``last_offset`` is -1 where no data batch of the producer is known.
    """

    last_offset: int
    producer_epoch: int


def pack_ends(log: "UnifiedLog", end_offset: int) -> Iterator[bytes]:
    """The producers of a log, in pieces between which the log may go on.

    Those whose last batch is at ``end_offset`` or behind are left out.
    """
    for piece in log.producers.picture().pieces:
        yield b"".join(
            _END.pack(each.producer_id, each.last_offset, each.producer_epoch)
            for each in unpack_entries(piece)
            if each.last_offset < end_offset
        )


def unpack_ends(packed: bytes) -> dict[int, ProducerEnd]:
    """By the producers' ids."""
    return {
        producer_id: ProducerEnd(last_offset, epoch)
        for producer_id, last_offset, epoch in _END.iter_unpack(packed)
    }
