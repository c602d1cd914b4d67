"""Making a log durable; see `sync_ticket`.

Invariant: the durable offset rises only when the ticket up to there was run.
"""

import logging

from odradek.storage.local.sync_ticket import SyncTicket

from .state import LogState

_log = logging.getLogger(__name__)


class Syncing:
    """Draws a log's tickets and takes them back."""

    __slots__ = ("_state", "is_held")

    def __init__(self, state: LogState) -> None:
        self._state = state
        self.is_held = False  # nothing becomes durable

    def begin(self, with_snapshot: bool = False) -> SyncTicket | None:
        """What must reach the disk for all that is in the log; None when it has.

        ``with_snapshot`` adds the indexes of the active segment and a producer
        snapshot, so that a recovery need not begin further back.
        """
        return self._draw(with_snapshot, with_snapshot)

    def begin_checkpoint(self) -> SyncTicket | None:
        """As `begin`, when a recovery is to begin where the log ends now.

        With the new entries of the indexes, and with a snapshot if a recovery would
        otherwise read much before that: few partitions need one each time.
        """
        local = self._state.local
        is_due = self._state.unsynced.is_snapshot_due(local.end)
        return self._draw(is_due, is_due or local.active.indexes.has_new_entries)

    def _draw(self, with_snapshot: bool, with_indexes: bool) -> SyncTicket | None:
        state = self._state
        if state.failure is not None or self.is_held:
            return None
        end, durable = state.local.end.offset, state.watermarks.durable.offset
        if _log.isEnabledFor(logging.DEBUG):
            text = "flushed up to offset %d, durable up to %d"
            state.lines(_log).debug(text, end, durable)
        return state.unsynced.draw(
            state.local,
            state.epochs,
            end > durable,
            state.producers if with_snapshot else None,
            with_indexes,
        )

    def finish(self, ticket: SyncTicket) -> None:
        """Note that ``ticket`` was run: the log is durable up to its end.

        Raises:
            StorageFailure: the directory of the log is gone; the log has failed.
        """
        state = self._state
        if state.failure is not None:
            return
        unsynced = state.unsynced
        if ticket.has_lost_directory and unsynced.has_drawn(ticket):
            gone = FileNotFoundError("the directory is gone")
            raise state.fail_without_files(gone)
        if unsynced.take_back(ticket, state.local.segments, state.epochs):
            state.watermarks.raise_durable(ticket.end)

    def flush(self, with_snapshot: bool = False) -> None:
        """Make everything durable now. Waits for the disk.

        Raises:
            StorageFailure: the log must `fail` with it.
        """
        ticket = self.begin(with_snapshot)
        if ticket is not None:
            ticket.run()
            self.finish(ticket)

    # While the log moves to another log directory: see `log_move`

    def hold(self) -> None:
        """Let nothing become durable that is not, until `release`."""
        self.is_held = True

    def release(self) -> None:
        """Let the next sync make durable what there is."""
        self.is_held = False
