"""The log of one partition: what may be appended, by whom, and who sees how far.

`LocalLog` knows bytes and offsets; here are producers, epochs and watermarks. The
class is in three layers: `LogState` is what there is, `LogWriter` appends to it, and
`UnifiedLog` adds reading, syncing and the log's life.

Used by the loop's thread alone; what a disk thread does with the log is in
`sync_ticket`, and reads that must wait go through `ColdRead`.
"""

from contextlib import suppress
from pathlib import Path

from protocol.errors import KafkaStorageError, OffsetOutOfRange

from .leader_epochs import EpochEndOffset
from .log_config import LogConfig
from .log_read import FetchedData, FetchIsolation, TimestampOffset
from .log_writer import LogWriter
from .offset_lookup import find_offset
from .sync_ticket import SyncTicket


class UnifiedLog(LogWriter):
    """Appends, reads and watermarks of one partition."""

    # Read

    def read(
        self,
        start_offset: int,
        size_max: int,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
        min_one: bool = True,
        may_block: bool = False,
    ) -> FetchedData:
        """The batches from the one that holds ``start_offset`` on (``spec`` B4.1).

        Nothing, and no error, between what the reader may see and the log end.

        Raises:
            OffsetOutOfRange: below the log start or above the log end.
            ColdRead: ``may_block`` is False and the bytes are not cached.
            CorruptMessage: the first batch is damaged.
        """
        watermarks = self._watermarks
        if start_offset < watermarks.log_start_offset:
            raise OffsetOutOfRange(
                f"offset {start_offset} is below the log start, {self.log_start_offset}"
            )
        limit = watermarks.high
        if isolation is not FetchIsolation.HIGH_WATERMARK:
            limit = self.end_offset(isolation)
        data = self.local.read(start_offset, size_max, min_one, limit, may_block)
        if isolation is FetchIsolation.TXN_COMMITTED:
            return data._replace(aborted=[])
        return data

    def find_offset(
        self, timestamp: int, may_block: bool = True
    ) -> TimestampOffset | None:
        """The first record that is not earlier; see `offset_lookup`."""
        return find_offset(
            self.local, self.epochs, self.log_start_offset, timestamp, may_block
        )

    # Sync

    def begin_sync(self, with_snapshot: bool = False) -> SyncTicket | None:
        """What must reach the disk for all that is in the log; None when it has.

        ``with_snapshot`` adds the indexes of the active segment and a producer
        snapshot, so that a recovery need not begin further back.
        """
        if self._failure is not None:
            return None
        return self._unsynced.draw(
            self.local,
            self.epochs,
            self.local.end.offset > self.recovery_point,
            self.producers if with_snapshot else None,
        )

    def finish_sync(self, ticket: SyncTicket) -> None:
        """Note that ``ticket`` was run: the log is durable up to its end."""
        if self._failure is not None:
            return
        self._unsynced.take_back(ticket, self.epochs)
        self._watermarks.raise_durable(ticket.end)

    # Epochs

    def assign_epoch(self, leader_epoch: int) -> None:
        """Let a leader's epoch begin at the log end, before any record of it."""
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, self.local.end.offset)

    def epoch_end_offset(self, epoch: int) -> EpochEndOffset:
        """The newest epoch not above ``epoch`` and its end; (-1, -1) if unknown."""
        return self.epochs.end_offset_for(epoch, self.local.end.offset)

    # Life

    def update_config(self, config: LogConfig) -> None:
        """Follow a change of the topic's options."""
        self.local.update_config(config)

    def close(self) -> bool:
        """Make everything durable and let go of the files. For a clean stop.

        Returns whether that worked; if not, the log will be recovered.
        """
        try:
            if self._failure is None:
                self.local.active.seal()
                ticket = self.begin_sync(with_snapshot=True)
                if ticket is not None:
                    ticket.run()
                    self.finish_sync(ticket)
        except KafkaStorageError as error:
            self.fail(error)
        with suppress(KafkaStorageError):
            self.local.close()
        return self._failure is None

    def retire(self, directory: Path) -> None:
        """Follow the directory to the name under which it is to be removed."""
        self._failure = KafkaStorageError(f"{self.topic_partition} is deleted")
        self.local.moved(directory)
        self.epochs.moved(directory)
