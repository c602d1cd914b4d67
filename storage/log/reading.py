"""Reading a log: what its readers may see, past damage and without what was aborted.

Reads that must wait for the disk go through `ColdRead`.
"""

from odradek.protocol.errors import OffsetOutOfRange
from odradek.storage.local.offset_lookup import find_offset
from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.values.log_read import (
    FetchedData,
    FetchIsolation,
    TimestampOffset,
)
from odradek.storage.values.offset_metadata import OffsetMetadata

from .abort_index import AbortIndex
from .known_damage import KnownDamage
from .state import LogState
from .visibility import Visibility

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__


class LogReading:
    """Finds and reads the batches of a log."""

    __slots__ = (
        "_aborts",
        "_damage",
        "_epochs",
        "_local",
        "_state",
        "_visibility",
        "_watermarks",
    )

    def __init__(
        self,
        state: LogState,
        visibility: Visibility,
        damage: KnownDamage,
        aborts: AbortIndex,
    ) -> None:
        self._state = state
        self._local = state.local
        self._epochs = state.epochs
        self._watermarks = state.watermarks
        self._visibility = visibility
        self._damage = damage
        self._aborts = aborts

    def read(
        self,
        start_offset: int,
        size_max: int,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
        min_one: bool = True,
        may_block: bool = False,
    ) -> FetchedData:
        """The batches from the one that holds ``start_offset`` on.

        Nothing, and no error, between what the reader may see and the log end.

        A damaged batch is quarantined, and readers get an empty one for it. What
        committed readers get comes with the transactions that they must leave out.

        Raises:
            OffsetOutOfRange: below the log start or above the log end.
            ColdRead: ``may_block`` is False and the bytes are not cached.
            KafkaStorageError: nobody knows which transactions were aborted.
        """
        watermarks = self._watermarks
        if start_offset < watermarks.log_start_offset:
            raise OffsetOutOfRange(
                f"offset {start_offset} is below the log start,"
                f" {watermarks.log_start_offset}"
            )
        limit = watermarks.high
        if isolation is not FetchIsolation.HIGH_WATERMARK:
            limit = self._visibility.end_offset(isolation)
        if limit.segment_base_offset < 0:
            limit = self._located(limit)
        while True:
            try:
                data = self._local.read(
                    start_offset, size_max, min_one, limit, may_block
                )
                break
            except DamagedBatch as damaged:
                self._damage.meet(damaged)
        if isolation is FetchIsolation.TXN_COMMITTED:
            aborted = self._aborts.aborted_in(data, limit)
            return _new(FetchedData, (*data[:3], aborted))
        return data

    def end_for_follower(self, offset: int, last_epoch: int) -> OffsetMetadata | None:
        """The log end, for a follower that has all below it, in our last epoch.

        None: there is something to read, or to be said.
        """
        if last_epoch != self._epochs.latest_epoch or self._state.failure is not None:
            return None
        return self._local.end_at(offset)

    def _located(self, limit: OffsetMetadata) -> OffsetMetadata:
        """A limit whose place was not found when it was set, with its place."""
        is_high = limit is self._watermarks.high
        while True:
            try:
                located = self._local.convert_to_offset_metadata(limit.offset)
                break
            except DamagedBatch as damaged:
                self._damage.meet(damaged)
        if is_high:
            self._watermarks.high = located
        return located

    def find_offset(
        self,
        timestamp: int,
        may_block: bool = True,
        isolation: FetchIsolation = FetchIsolation.LOG_END,
    ) -> TimestampOffset | None:
        """The first record that is not earlier; see `offset_lookup`.

        None also when a reader of this isolation cannot see it yet.
        """
        end_offset = self._visibility.end_offset(isolation).offset
        place = (self._watermarks.log_start_offset, end_offset)
        while True:
            try:
                return find_offset(
                    self._local, self._epochs, place, timestamp, may_block
                )
            except DamagedBatch as damaged:
                self._damage.meet(damaged)
