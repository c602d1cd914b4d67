"""Syncs of log files, in a thread that runs no Python (`sync_thread.c`).

A thread of Python needs the interpreter before and behind a sync, while the loop's
thread is at work with it: each of them then waits for the other.

The usual sync is of log files and nothing else: of one, or of so many that all of their
file system is synced, as `SyncStrategy` says. Everything else (small files, snapshots,
files that are better synced one by one, a system without this thread) is refused here,
and takes the long way: `DiskThreads` and `SyncStrategy`.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import OsFile

try:
    from . import sync_thread
except ImportError:  # it was not built, or this is not Linux
    sync_thread = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.runtime.disk_threads import OnDone
    from odradek.storage.files.files import StorageFailure

    from .sync_strategy import SyncStrategy, Ticket


class PlainSync:
    """One sync at a time; the thread is there once it has been needed."""

    def __init__(self, strategy: SyncStrategy) -> None:
        """``strategy`` is that of the long way, which is never at work meanwhile."""
        self._strategy = strategy
        self._thread: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = sync_thread is None
        # Of the sync under way: the only file, or None for the whole file system. What
        # is leased stays open until the result is taken.
        self._file: OsFile | None = None
        self._lease: object = None
        self._on_done: OnDone | None = None

    def begin(self, tickets: Sequence[Ticket], on_done: OnDone) -> bool:
        """Sync, and call ``on_done`` with the seconds it took, or with the error.

        False when that is not for this thread: nothing was begun.
        """
        if self._is_closed:
            return False
        files: list[Any] = []
        for ticket in tickets:
            if not ticket.is_plain:
                return False
            files += ticket.files
        strategy = self._strategy
        is_file_system = strategy.prefers_one_call(len(files))
        if not is_file_system and (len(files) != 1 or not _is_for_us(files[0])):
            return False
        file = None if is_file_system else files[0]
        try:
            lease: Any = strategy.file_system if file is None else file.lease()
            if self._thread is None:
                self._start()
        except (OSError, KafkaStorageError):
            return False  # the file is gone, or there are too many: found again there
        # Before the sync: what is appended while it runs is dirty afterwards.
        for each in files:
            each.is_dirty = False
        self._file, self._lease, self._on_done = file, lease, on_done
        sync_thread.begin(self._thread, lease.number, is_file_system)
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
        assert on_done is not None
        self._file = self._lease = self._on_done = None
        if number:
            on_done(None, self._failure(file, number))
            return
        if file is None:
            self._strategy.note_one_call(seconds)
        on_done(seconds, None)

    def _failure(self, file: OsFile | None, number: int) -> StorageFailure:
        error = OSError(number, os.strerror(number))
        if file is not None:
            failure = file.sync_failure(error)
        else:
            assert self._strategy.file_system is not None
            failure = self._strategy.file_system.failure(number)
        failure.__cause__ = error
        return failure


def _is_for_us(file: Any) -> bool:
    return type(file) is OsFile and file.is_dirty
