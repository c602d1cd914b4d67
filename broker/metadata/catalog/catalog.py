"""The catalogue's one queue of changes.

Invariants: changes are decided one at a time, each when everything before it has
been committed and applied; what a change applies on the loop is already durable.
So two creations of one topic cannot race, and nobody sees a topic that a power cut
could take back. A caller that stops waiting changes none of this. From the first
change on the file is used in the catalogue's thread alone: who keeps something in
memory has read it before.

A change for which the disk has no room is refused, and the next one may have it; after
any other error nobody knows what is in the file, and nothing is changed any more.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.protocol.uuids import random_uuid, to_text
from odradek.storage.directory.disk_reserve import DiskReserve, has_room
from odradek.storage.files.files import DiskFull, OsFiles

from .recovery import BACKUP, open_store
from .store import CatalogError, make_directory

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.broker.runtime.disk_threads import OnDone

    from .store import CatalogStore

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")

PRODUCER_ID_BLOCK = 1_000
RESERVE_NAME = ".catalog.reserve"
_CHANGES_WITHOUT_COPY = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A decided change: ``write`` in the catalogue's thread, ``apply`` on the loop.

    ``apply`` gets what ``write`` returned; what it returns is the answer. Without
    ``write`` there is nothing to store. ``is_copied``: the change deserves a copy
    of the catalogue soon after.
    """

    apply: Callable[[Any], Any]
    write: Callable[[CatalogStore], Any] | None = None
    is_copied: bool = False


_Decide = Callable[[], Change]


class Catalog:
    """The catalogue of one broker: its file, its thread, and the queue before it."""

    def __init__(
        self,
        store: CatalogStore,
        directory: Path,
        cluster_id: str | None = None,
        *,
        is_durable: bool = True,
    ) -> None:
        self.store = store
        self._is_durable = is_durable
        self.cluster_id = _cluster_id(store, cluster_id)
        self.change_count = int(store.fact("change_count") or 0)
        self._directory = directory
        self._backup = directory / BACKUP
        self._files = OsFiles()
        self._reserve = DiskReserve(self._files, directory, RESERVE_NAME)
        self._reserve.keep()
        self._threads = DiskThreads(1, "catalogue")
        self._waiting: deque[tuple[_Decide, asyncio.Future[Any]]] = deque()
        self._is_busy = False
        self._is_closed = False
        self.failure: str | None = None
        self.has_room = True  # when it was last written
        self.no_room_count = 0  # changes that were refused for want of it
        self._changes_since_copy = 0
        self._is_copy_owed = False  # the last one could not be made
        self._idle: asyncio.Future[None] | None = None

    @classmethod
    def open(
        cls, directory: Path, cluster_id: str | None = None, *, is_durable: bool = True
    ) -> Catalog:
        """Open or make the catalogue of ``directory``. Blocking; for the start.

        ``cluster_id`` is that of a new one, and must be that of an old one. Where
        changes need not be durable none waits for the disk, and copies are fewer.

        Raises:
            CatalogError: it cannot be used; the message says why.
            OSError: the directory cannot be used.
        """
        make_directory(directory)
        store = open_store(directory, is_durable=is_durable)
        try:
            return cls(store, directory, cluster_id, is_durable=is_durable)
        except CatalogError:
            store.close()
            raise
        except sqlite3.Error as error:
            store.close()
            raise CatalogError(f"{store.path} cannot be used: {error}") from error

    def change(self, decide: Callable[[], Change]) -> asyncio.Future[Any]:
        """Queue a change; the future has what it applied, or why it was refused."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._is_closed:
            future.set_exception(KafkaStorageError("The broker is stopping"))
            return future
        self._waiting.append((decide, future))
        if not self._is_busy:
            self._start_next()
        return future

    async def allocate_producer_id_block(self) -> range:
        """Producer ids that nobody got before and nobody will get again."""

        def take(store: CatalogStore) -> range:
            first = store.take_producer_ids(PRODUCER_ID_BLOCK)
            # Copied before anybody uses one: a restored copy would give them again.
            store.copy_to(self._backup)
            return range(first, first + PRODUCER_ID_BLOCK)

        block: range = await self.change(lambda: Change(lambda ids: ids, take))
        return block

    async def close(self) -> None:
        """Finish what is queued, make a last copy, close the file."""
        self._is_closed = True
        if self._is_busy:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        if self._changes_since_copy or self._is_copy_owed:
            try:
                await self._threads.run(self._with_store(self._copy))
            except (sqlite3.Error, OSError) as error:
                self._report_copy(error)
        await self._threads.run(self._with_store(self.store.close))
        self._threads.close()

    def _start_next(self) -> None:
        """Decide the next changes until one of them has something to write."""
        while self._waiting:
            decide, future = self._waiting.popleft()
            try:
                self._refuse_when_failed()
                change = decide()
                if change.write is not None:
                    self._is_busy = True
                    self._write(change, future)
                    return
                _answer(future, change.apply(None))
            except Exception as error:
                _refuse(future, error)
        self._after_the_last()

    def _after_the_last(self) -> None:
        self._is_busy = False
        if self._idle is not None:
            self._idle.set_result(None)
            self._idle = None
        elif self._changes_since_copy and self._is_durable:
            self._is_busy = True
            self._submit(self._copy, self._copied)

    def _submit(self, job: Callable[[], object], on_done: OnDone) -> None:
        self._threads.submit(self._with_store(job), on_done)

    def _with_store(self, job: Callable[[], _T]) -> Callable[[], _T]:
        """``job`` for the catalogue's thread, to which the loop leaves the file."""
        self.store.leave()

        def work() -> _T:
            self.store.take()
            return job()

        return work

    def _write(self, change: Change, future: asyncio.Future[Any]) -> None:
        write = change.write
        assert write is not None

        def done(result: Any, error: BaseException | None) -> None:
            if error is None:
                self._note_room()
                self._commit(change, future, result)
            else:
                _refuse(future, self._storage_error(error))
            if self._changes_since_copy >= _CHANGES_WITHOUT_COPY:
                self._submit(self._copy, self._copied)
            else:
                self._start_next()

        self._submit(lambda: self._write_somehow(write), done)

    def _write_somehow(self, write: Callable[[CatalogStore], _T]) -> _T:
        """Write, on a full disk into the room that is kept for it.

        Raises:
            DiskFull: there is none. Nothing was written.
        """
        try:
            try:
                result = write(self.store)
            except sqlite3.DatabaseError as error:
                if not (self._is_for_want_of_room(error) and self._reserve.give_up()):
                    raise
                result = write(self.store)
        except sqlite3.DatabaseError as error:
            if self._is_for_want_of_room(error):
                raise DiskFull(str(error)) from error
            raise
        finally:
            self._reserve.keep()
        return result

    def _is_for_want_of_room(self, error: sqlite3.DatabaseError) -> bool:
        """Whether that is why it was not written. A quota is an error like any other
        to SQLite, which has taken back what it wrote.
        """
        code = error.sqlite_errorcode
        return code & 0xFF == sqlite3.SQLITE_FULL or (
            code == sqlite3.SQLITE_IOERR_WRITE
            and not has_room(self._files, self._directory)
        )

    def _commit(self, change: Change, future: asyncio.Future[Any], result: Any) -> None:
        self._changes_since_copy += change.is_copied or self._is_copy_owed
        self.change_count += change.is_copied
        try:
            _answer(future, change.apply(result))
        except Exception as error:
            _refuse(future, error)

    def _copy(self) -> None:
        self.store.copy_to(self._backup)

    def _copied(self, _: object, error: BaseException | None) -> None:
        # A copy that failed is tried again after the next change: it is the second
        # copy of what is safe in the first.
        self._changes_since_copy = 0
        self._is_copy_owed = error is not None
        if error is not None:
            self._report_copy(error)
        self._start_next()

    def _report_copy(self, error: BaseException) -> None:
        _logger.error("the catalogue was not copied to %s: %s", self._backup, error)

    def _refuse_when_failed(self) -> None:
        if self.failure is not None:
            raise KafkaStorageError(f"The catalogue failed earlier: {self.failure}")

    def _storage_error(self, error: BaseException) -> BaseException:
        if isinstance(error, DiskFull):
            self._note_no_room(error)
        elif isinstance(error, sqlite3.Error | OSError):
            _logger.error(
                "the catalogue %s was not written: %s", self.store.path, error
            )
        else:
            return error
        if isinstance(error, sqlite3.DatabaseError):
            # What is in the file is not known any more: nothing may build on it.
            self.failure = str(error)
        return KafkaStorageError(f"The catalogue was not written: {error}")

    def _note_no_room(self, error: DiskFull) -> None:
        if self.has_room:
            _logger.error(
                "the catalogue %s has no room (%s): what would change it is refused",
                self.store.path,
                error,
            )
        self.has_room = False
        self.no_room_count += 1

    def _note_room(self) -> None:
        if not self.has_room:
            _logger.warning("the catalogue %s has room again", self.store.path)
        self.has_room = True


def _cluster_id(store: CatalogStore, wanted: str | None) -> str:
    known = store.fact("cluster_id")
    if known is None:
        known = wanted or to_text(random_uuid())
        store.set_fact("cluster_id", known)
    elif wanted not in (None, known):
        raise CatalogError(
            f"{store.path} is of the cluster {known}, and cluster.id (or CLUSTER_ID) "
            f"says {wanted}"
        )
    return str(known)


def _answer(future: asyncio.Future[_T], result: _T) -> None:
    if not future.done():
        future.set_result(result)


def _refuse(future: asyncio.Future[Any], error: BaseException) -> None:
    if future.done():
        if not isinstance(error, KafkaError):
            _logger.error("a change of the catalogue failed", exc_info=error)
        return
    future.set_exception(error)
