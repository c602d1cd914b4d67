"""Of each key, the last offset: what a round of cleaning goes by.

The map is a table of fixed size, 24 bytes a slot: a digest of 128 bits stands for the
key. It is made with a secret that is drawn for each map, so that nobody can write keys
which are taken for one another; that two of a billion are by chance is as likely as
one in 10^20.
"""

import mmap
import os
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidRecord

try:
    from odradek.protocol.speedups import keep_latest, map_keys
except ImportError:  # installed where there was no compiler
    from odradek.protocol.plain.last_offsets import keep_latest, map_keys

if TYPE_CHECKING:
    from typing_extensions import Buffer

SLOT_SIZE = 24
SLOT_COUNT_MAX = 1 << 31
LOAD_FACTOR = 0.9
_ROOMY = 2 / 3
_SLOT_COUNT_MIN = 2  # one key always fits, or nothing would ever be cleaned
_SECRET_SIZE = 16


class Kept(NamedTuple):
    """What has become of batches: sizes and position in bytes.

    Those up to ``position`` were looked at. ``size`` bytes of them were written, and
    behind those ``pending`` of a last one that is not finished.
    """

    position: int
    size: int
    pending: int
    records_read: int
    records_kept: int
    null_key_count: int


class OffsetMap:
    """The last offset of each key, for so many keys as fit.

    ``latest_offset`` is the offset up to which it is complete.
    """

    def __init__(
        self,
        size_max: int,
        key_count_max: int = SLOT_COUNT_MAX,
        load_factor: float = LOAD_FACTOR,
    ) -> None:
        """In at most ``size_max`` bytes, of which ``load_factor`` is filled.

        In less if there cannot be so many keys: emptier than by a third it would gain
        little, and every page of it that is touched is memory of the machine.
        """
        enough = int(key_count_max / min(load_factor, _ROOMY)) + 1
        count = max(min(size_max // SLOT_SIZE, enough, SLOT_COUNT_MAX), _SLOT_COUNT_MIN)
        self.latest_offset = -1
        self._count = 0
        self._count_max = max(1, int(count * load_factor))
        # Memory that the system gives page by page, as slots are written to.
        self._slots = mmap.mmap(-1, count * SLOT_SIZE)
        self._secret = os.urandom(_SECRET_SIZE)

    def __len__(self) -> int:
        return self._count

    def put(
        self, batches: "Buffer", start_offset: int, stops_at: int = 0
    ) -> tuple[int, bool]:
        """Take in the records from ``start_offset`` on, which is not negative.

        Batches are whole, sound and not compressed. Returns the position of the first
        with an attribute of ``stops_at``, or the end; and whether there was room: else
        ``latest_offset`` is that of the last record that had some.

        Raises:
            InvalidRecord: a batch holds what is no record.
        """
        room = self._count_max - self._count
        try:
            position, added, latest_offset, is_full = map_keys(
                batches, self._slots, self._secret, start_offset, room, stops_at
            )
        except ValueError as error:
            raise InvalidRecord(str(error)) from None
        self._count += added
        self.advance(latest_offset)
        return position, not is_full

    def advance(self, offset: int) -> None:
        """Note that there is nothing more to take in up to ``offset``."""
        self.latest_offset = max(self.latest_offset, offset)

    def keep(
        self,
        batches: "Buffer",
        target: "Buffer",
        pinned: "Buffer",
        now_ms: int,
        stops_at: int = 0,
    ) -> Kept:
        """Write batches with the records that stay; see `protocol.plain.last_offsets`.

        Raises:
            InvalidRecord: a batch holds what is no record.
        """
        try:
            return Kept._make(
                keep_latest(
                    batches,
                    self._slots,
                    self._secret,
                    target,
                    pinned,
                    self.latest_offset,
                    now_ms,
                    stops_at,
                )
            )
        except ValueError as error:
            raise InvalidRecord(str(error)) from None
