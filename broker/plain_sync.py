"""Syncs of one file, in a thread that runs no Python (`sync_thread.c`).

Most syncs are of one log file. A thread of Python that does one needs the interpreter
before and behind its system call, while the loop's thread is at work with it: each of
them then waits for the other.

Everything else (more files, small ones, snapshots, a system without this thread) is
refused here, and takes the long way: `DiskThreads` and `SyncStrategy`.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from protocol.errors import KafkaStorageError
from storage.files import OsFile

try:
    from . import sync_thread
except ImportError:  # it was not built, or this is not Linux
    sync_thread = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .disk_threads import OnDone
    from .sync_strategy import Ticket


class PlainSync:
    """One sync at a time; the thread is there once it has been needed."""

    def __init__(self) -> None:
        self._thread: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = sync_thread is None
        # Of the sync under way. What is leased stays open until the result is taken.
        self._file: OsFile | None = None
        self._lease: object = None
        self._on_done: OnDone | None = None

    def begin(self, tickets: Sequence[Ticket], on_done: OnDone) -> bool:
        """Sync, and call ``on_done`` with the seconds it took, or with the error.

        False when that is not for this thread: nothing was begun.
        """
        if self._is_closed or len(tickets) != 1:
            return False
        file = _only_file(tickets[0])
        if file is None:
            return False
        try:
            lease = file.lease()
            if self._thread is None:
                self._start()
        except (OSError, KafkaStorageError):
            return False  # the file is gone, or there are too many: found again there
        # Before the sync: what is appended while it runs is dirty afterwards.
        file.is_dirty = False
        self._file, self._lease, self._on_done = file, lease, on_done
        sync_thread.begin(self._thread, lease.number)
        return True

    def close(self) -> None:
        """End the thread; waits for the sync that it may be in."""
        self._is_closed = True
        if self._thread is None or self._loop is None:
            return
        sync_thread.stop(self._thread)
        if not self._loop.is_closed():
            self._loop.remove_reader(sync_thread.fileno(self._thread))
            self._loop.call_soon(self._take)

    def _start(self) -> None:
        self._thread = sync_thread.start()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sync_thread.fileno(self._thread), self._take)

    def _take(self) -> None:
        result = sync_thread.take(self._thread)
        if result is None:
            return
        number, seconds = result
        file, on_done = self._file, self._on_done
        assert file is not None
        assert on_done is not None
        self._file = self._lease = self._on_done = None
        if number:
            failure = file.sync_failure()
            failure.__cause__ = OSError(number, os.strerror(number))
            on_done(None, failure)
        else:
            on_done(seconds, None)


def _only_file(ticket: Ticket) -> OsFile | None:
    """The file that is all that the ticket needs, if there is no more to it."""
    files = ticket.files
    if (
        len(files) != 1
        or ticket.texts
        or ticket.has_new_names
        or ticket.snapshot
        or ticket.finished
    ):
        return None
    (file,) = files
    return file if type(file) is OsFile and file.is_dirty else None
