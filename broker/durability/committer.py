"""Makes what was appended durable: the group commit.

Each log directory has one ``DirectoryCommitter`` with a thread or two. It runs one sync
at a time; whatever gets dirty meanwhile goes into the next, which starts as soon as
the last has ended. So a sync costs its time once, however many answers wait for it.

Invariants: a sync makes durable what had been appended when it began. A failed
sync is final: the directory is told once, and nothing is synced there again.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from odradek.broker.runtime.disk_threads import DiskThreads, OnDone
from odradek.broker.runtime.histogram import Histogram, exponential
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import StorageFailure

from .plain_sync import PlainSync
from .sync_strategy import SyncStrategy, Ticket, file_system_sync
from .sync_waiters import SyncWaiters

if TYPE_CHECKING:
    from odradek.broker.runtime.clock import Clock, TimerHandle

COMMIT = "commit"
INTERVAL = "interval"
NONE = "none"
# Of a checkpoint, the logs that one sync looks at, and those that it writes small files
# for: what waits for the next sync must not wait for a thousand of them.
CHECKPOINTS_PER_SYNC = 128
SMALL_FILES_PER_SYNC = 16

# For metrics: from 0.1 ms to 10 s, and up to some thousand partitions.
_SECONDS = exponential(0.000_1, 10)
_SIZES = exponential(1, 4096)

SyncFunction = Callable[[Sequence[Ticket]], None]
OnFailure = Callable[[Path, StorageFailure], None]

_logger = logging.getLogger(__name__)


class Syncable(Protocol):
    """A partition, as the committer sees it."""

    def begin_sync(self, for_checkpoint: bool = False) -> Any:
        """The ticket of what is to be synced now; None when there is nothing.

        ``for_checkpoint``: with what spares a recovery from reading much before it.
        """

    def finish_sync(self, ticket: Any) -> None:
        """What the ticket stands for is durable. Wakes nobody yet.

        Raises:
            StorageFailure: the files are gone, and it is not.
        """

    def on_durable(self) -> None:
        """The durable offset has moved: raise the high watermark, wake waiters."""


class DurabilityOptions(Protocol):
    """The broker's options that the committer reads."""

    @property
    def durability(self) -> str:
        """``commit``, ``interval`` or ``none``."""

    @property
    def durability_interval_ms(self) -> int:
        """How often ``interval`` syncs."""


class DirectoryCommitter:
    """The group commit of one log directory."""

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        config: DurabilityOptions,
        sync: SyncFunction,
        on_failure: OnFailure,
        plain: PlainSync | None = None,
    ) -> None:
        self.directory = directory
        self.failure: StorageFailure | None = None
        self.sync_seconds = Histogram(_SECONDS)
        self.group_sizes = Histogram(_SIZES)
        self._clock = clock
        self._config = config
        self._sync = sync
        self._on_failure = on_failure
        self.syncs_at_once = config.durability == COMMIT
        self._plain = plain
        self._thread = DiskThreads(1, f"sync-{directory.name}")
        self._dirty: dict[Syncable, None] = {}
        self._urgent: dict[Syncable, None] = {}
        # Synced since their last checkpoint; and those whose turn for one has come.
        self._unchecked: dict[Syncable, None] = {}
        self._checkpoints_due: dict[Syncable, None] = {}
        self.waiters = SyncWaiters()  # for the sync that begins next
        self._waiters_now: SyncWaiters | None = None  # for the one under way
        self._interval_timer: TimerHandle | None = None
        self._is_running = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being synced."""
        return not self._is_running

    def mark_dirty(self, partition: Syncable) -> None:
        """``partition`` has records that are not durable; sync it when it is time."""
        if self.failure is not None:
            return
        self._dirty[partition] = None
        if self.syncs_at_once:
            if not self._is_running:
                self._start_soon()
        elif self._config.durability == INTERVAL and self._interval_timer is None:
            self._interval_timer = self._clock.call_later(
                self._config.durability_interval_ms, self._on_interval
            )

    def request_sync(self, partition: Syncable) -> None:
        """Sync ``partition`` now, whatever the durability: somebody waits for it."""
        if self.failure is not None:
            return
        self._dirty[partition] = None
        if not self.syncs_at_once:
            self._urgent[partition] = None
        if not self._is_running:
            self._start_soon()

    def forget(self, partition: Syncable) -> None:
        """Sync ``partition`` here no more: it has moved to another directory."""
        for listed in (
            self._dirty,
            self._urgent,
            self._unchecked,
            self._checkpoints_due,
        ):
            listed.pop(partition, None)

    def hand_over(self, partition: Syncable) -> None:
        """Who waits for a sync of ``partition`` waits for what is said of it."""
        self.waiters.hand_over(partition)
        if self._waiters_now is not None:
            self._waiters_now.hand_over(partition)

    async def flush(self) -> None:
        """Return once everything that is dirty now is durable.

        Raises:
            StorageFailure: it could not be made durable.
        """
        if self.failure is not None:
            raise self.failure
        waiter = self.waiters.add_flush()
        self._start_soon()
        await waiter

    async def checkpoint(self) -> None:
        """Like ``flush``; a recovery will begin where the logs end now.

        Raises:
            StorageFailure: it could not be made durable.
        """
        self._checkpoints_due.update(self._unchecked)
        self._checkpoints_due.update(self._dirty)
        self._unchecked.clear()
        while self._checkpoints_due:
            waiter = self.waiters.add_turn()
            self._start_soon()
            await waiter

    def fail(self, error: StorageFailure) -> None:
        """Stop syncing for good; nothing after this is acknowledged."""
        if self.failure is not None:
            return
        self.failure = error
        _logger.error("%s takes no more writes: %s", self.directory, error)
        self._dirty.clear()
        self._urgent.clear()
        self._unchecked.clear()
        self._checkpoints_due.clear()
        self._on_failure(self.directory, error)
        waiters, self.waiters = self.waiters, SyncWaiters()
        waiters.release(error)

    def close(self) -> None:
        """End the threads, after the sync that it may be in."""
        if self._interval_timer is not None:
            self._interval_timer.cancel()
        if self._plain is not None:
            self._plain.close()
        self._thread.close()

    def _start_soon(self) -> None:
        # Not at once: requests that the loop reads in the same turn share the sync.
        if not self._is_running and self.failure is None:
            self._is_running = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _on_interval(self) -> None:
        self._interval_timer = None
        self._urgent.update(self._dirty)
        if self._urgent:
            self._start_soon()

    def _begin(self) -> None:
        waiters, self.waiters = self.waiters, SyncWaiters()
        self._waiters_now = waiters
        try:
            begun = self._draw_tickets(self._take_due(waiters.have_flushes))
            if begun:
                on_done = functools.partial(self._on_synced, begun, waiters)
                self._hand_over(begun, on_done)
        except Exception as error:  # the indexes could not be written, or no thread is
            self._fail_with(error)
            begun = []
        if not begun:
            self._is_running, self._waiters_now = False, None
            waiters.release(self.failure)

    def _hand_over(self, begun: list[tuple[Syncable, Any]], on_done: OnDone) -> None:
        tickets = [ticket for _, ticket in begun]
        if self._plain is None or not self._plain.begin(tickets, on_done):
            self._thread.submit(functools.partial(self._run, tickets), on_done)

    def _run(self, tickets: Sequence[Ticket]) -> float:
        """In the thread: the sync. Returns its seconds."""
        began = time.perf_counter()
        self._sync(tickets)
        return time.perf_counter() - began

    def _draw_tickets(self, due: dict[Syncable, None]) -> list[tuple[Syncable, Any]]:
        begun = self._draw_checkpoints(due)
        for partition in due:
            ticket = partition.begin_sync()
            if ticket is not None:
                self._unchecked[partition] = None
                begun.append((partition, ticket))
        return begun

    def _draw_checkpoints(
        self, due: dict[Syncable, None]
    ) -> list[tuple[Syncable, Any]]:
        """Tickets of some of those whose turn for a checkpoint has come."""
        begun: list[tuple[Syncable, Any]] = []
        places = SMALL_FILES_PER_SYNC
        for partition in list(islice(self._checkpoints_due, CHECKPOINTS_PER_SYNC)):
            for listed in (self._checkpoints_due, due, self._dirty, self._urgent):
                listed.pop(partition, None)
            ticket = partition.begin_sync(for_checkpoint=True)
            if ticket is None:
                continue
            begun.append((partition, ticket))
            places -= not ticket.is_plain
            if not places:
                break
        return begun

    def _take_due(self, takes_all: bool) -> dict[Syncable, None]:
        if self.syncs_at_once or takes_all:
            due, self._dirty = self._dirty, {}
            self._urgent.clear()
            return due
        due, self._urgent = self._urgent, {}
        for partition in due:
            self._dirty.pop(partition, None)
        return due

    def _on_synced(
        self,
        begun: list[tuple[Syncable, Any]],
        waiters: SyncWaiters,
        seconds: float | None,
        error: BaseException | None,
    ) -> None:
        self._is_running, self._waiters_now = False, None
        if seconds is not None:
            self.sync_seconds.observe(seconds)
            self.group_sizes.observe(len(begun))
        if error is None:
            error = _finish(begun)
        if error is None:
            # Before anybody is woken: the disk has no reason to wait for answers.
            if self._has_due():
                self._is_running = True
                self._begin()
            for partition, _ in begun:
                partition.on_durable()
        else:
            self._fail_with(error)
        waiters.release(self.failure)

    def _has_due(self) -> bool:
        due = self._dirty if self.syncs_at_once else self._urgent
        return self.failure is None and bool(due or self.waiters)

    def _fail_with(self, error: BaseException) -> None:
        if not isinstance(error, StorageFailure):
            if not isinstance(error, (KafkaStorageError, OSError)):
                _logger.error("a sync of %s broke", self.directory, exc_info=error)
            error = StorageFailure(f"a sync of {self.directory} broke: {error!r}")
        self.fail(error)


class Committer:
    """The committers of all log directories."""

    def __init__(
        self,
        clock: Clock,
        config: DurabilityOptions,
        sync_for: Callable[[Path], SyncFunction] | None = None,
    ) -> None:
        self.on_failure: OnFailure = _ignore
        self._clock = clock
        self._config = config
        self._sync_for = sync_for
        self._directories: dict[Path, DirectoryCommitter] = {}

    @property
    def failures(self) -> dict[Path, StorageFailure]:
        """Why, of the directories that take no more writes."""
        return {
            directory: committer.failure
            for directory, committer in self._directories.items()
            if committer.failure is not None
        }

    @property
    def directories(self) -> list[DirectoryCommitter]:
        """The committers that there are."""
        return list(self._directories.values())

    def for_directory(self, directory: Path) -> DirectoryCommitter:
        """The committer of one log directory, made when it is first asked for."""
        committer = self._directories.get(directory)
        if committer is None:
            sync, plain = self._syncs_of(directory)
            committer = self._directories[directory] = DirectoryCommitter(
                directory, self._clock, self._config, sync, self._report, plain
            )
        return committer

    def _syncs_of(self, directory: Path) -> tuple[SyncFunction, PlainSync | None]:
        if self._sync_for is not None:
            return self._sync_for(directory), None
        strategy = SyncStrategy(file_system_sync(directory))
        return strategy.sync, PlainSync(strategy)

    async def flush(self) -> None:
        """Return once everything that is dirty now is durable, where that works."""
        for committer in list(self._directories.values()):
            with suppress(StorageFailure):  # reported when it happened
                await committer.flush()

    async def checkpoint(self) -> None:
        """The same, and a recovery will begin where the logs end now."""
        for committer in list(self._directories.values()):
            with suppress(StorageFailure):  # reported when it happened
                await committer.checkpoint()

    def close(self) -> None:
        """End the threads; what is still dirty is synced by closing the logs."""
        for committer in self._directories.values():
            committer.close()

    def _report(self, directory: Path, error: StorageFailure) -> None:
        self.on_failure(directory, error)


def _finish(begun: list[tuple[Syncable, Any]]) -> StorageFailure | None:
    """Hand the tickets back; what is wrong, when one of them was run in vain."""
    try:
        for partition, ticket in begun:
            partition.finish_sync(ticket)
    except StorageFailure as error:
        return error
    return None


def _ignore(directory: Path, error: StorageFailure) -> None:
    """Tell nobody, until somebody wants to know."""
