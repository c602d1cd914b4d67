"""The broker's part in a backup: it makes the cut, and holds what is in it.

The command ``odradek backup`` asks on the admin socket, copies in its own process, and
hangs up: then the links go. Nothing here reads a byte of a log.

A backup begins with one change of the catalogue that changes nothing. When its copy
is made, and before any other change, the logs are looked at, in one turn of the loop.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.directory.checkpoints import DirectoryFailure

from .admin_socket import AdminError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from odradek.broker.requests.services import Services
    from odradek.storage.backup.cut import LogCut, LogHold
    from odradek.storage.files.files import Files

    from .admin_socket import Items

CUT_NAME = "catalog.cut"
# Logs whose files are linked by one job of a disk thread, and between which others
# have the loop.
LOGS_AT_ONCE = 64
# How often links are tried that a renaming overtook, and how often all of it is.
_LINK_TRIES = 20
_CUT_TRIES = 5
_SIGN_OF_LIFE_MS = 1000
# How long one that is under way may take to end before another is refused. Who has
# just hung up may be noticed after the next has asked.
_TURN_MS = 1000

_logger = logging.getLogger(__name__)


class _Overtaken(Exception):
    """Files of a log have gone before they were held."""


class Backups:
    """Makes backups possible, one at a time."""

    def __init__(self, services: Services, catalog_directory: Path) -> None:
        self._services = services
        self._copy = catalog_directory / CUT_NAME
        self._free = asyncio.Event()
        self._free.set()
        self._closing = asyncio.Event()

    async def request(self, request: Mapping[str, Any]) -> Items:
        """`hold`, asked on the admin socket."""
        if request:
            raise AdminError("malformed", f"unknown: {', '.join(request)}")
        async with aclosing(self.hold()) as items:
            async for item in items:
                yield item

    async def hold(self, *, rolls: bool = False) -> Items:
        """Items: what the cut is, each partition in it, ``held``, then signs of life.

        With ``rolls`` all of it is in segments that are sealed. The links are removed
        when the generator is closed.

        Raises:
            AdminError: there is one already, or it cannot be made.
        """
        await self._wait_for(self._free, _TURN_MS)
        if not self._free.is_set():
            raise AdminError("busy", "another backup is being made, or a snapshot")
        self._free.clear()
        holds: list[LogHold] = []
        try:
            missing = await self._open_all()
            cuts = await self._hold_all(holds, self._rolled if rolls else self._cut)
            what = "a snapshot" if rolls else "a backup"
            _logger.info("%s begins; logs held: %d", what, len(holds))
            yield {"cut": self._described(missing, cuts)}
            for hold in holds:
                yield {"partition": hold.described()}
            yield {"held": len(holds)}
            while True:
                await self._rest()
                yield {"held": len(holds)}
        except (KafkaError, OSError) as error:
            raise AdminError("failed", f"no backup: {error}") from error
        finally:
            self._free.set()
            # Shielded: who hangs up, and a stop, must not leave half of them.
            await asyncio.shield(self._let_go(holds))

    def close(self) -> None:
        """The broker stops: let go of what is held."""
        self._closing.set()

    async def _rest(self) -> None:
        await self._wait_for(self._closing, _SIGN_OF_LIFE_MS)
        if self._closing.is_set():
            raise AdminError("stopping", "no backup: the broker is stopping")

    async def _wait_for(self, event: asyncio.Event, wait_ms: int) -> None:
        """Until it is set, or the time is over."""
        if event.is_set():
            return
        clock = self._services.clock
        setting = asyncio.ensure_future(event.wait())
        resting = asyncio.ensure_future(clock.sleep(wait_ms))
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait((setting, resting), return_when=first)
        finally:
            setting.cancel()
            resting.cancel()

    async def _open_all(self) -> dict[str, str]:
        """Open the logs that are not, and say why some cannot be in the backup."""
        services = self._services
        manager, topics = services.replica_manager, services.metadata
        await manager.open(list(manager.unopened_logs))
        await services.committer.flush()
        missing = {str(each): "it is offline" for each in topics.offline}
        for log in services.log_manager.logs():
            if log.is_failed:
                missing[str(log.topic_partition)] = "its log directory is offline"
        for each in topics.strangers:
            missing[str(each)] = "it belongs to no topic"
        return missing

    async def _hold_all(
        self, holds: list[LogHold], take: Callable[[], list[LogCut]]
    ) -> list[LogCut]:
        """Make a cut and hold it; another one, where one was overtaken."""
        from odradek.storage.backup.cut import LogHold

        for _ in range(_CUT_TRIES):
            removals = self._services.log_manager.removals
            try:
                cuts = await self._services.metadata.copy_to(self._copy, take)
                holds += [LogHold(self._files, cut) for cut in cuts]
                for start in range(0, len(holds), LOGS_AT_ONCE):
                    await self._link(holds[start : start + LOGS_AT_ONCE])
                return cuts
            except _Overtaken:
                await self._remove(holds)
                holds.clear()
            finally:
                removals.is_held = False
        raise KafkaStorageError("files went faster than they could be held; try again")

    def _cut(self) -> list[LogCut]:
        from odradek.storage.backup.cut import take_cuts

        self._services.log_manager.removals.is_held = True
        return take_cuts(self._services.log_manager)

    def _rolled(self) -> list[LogCut]:
        from odradek.storage.backup.cut import take_rolled_cuts

        services = self._services
        services.log_manager.removals.is_held = True
        try:
            return take_rolled_cuts(services.log_manager, services.clock.now_ms())
        except DirectoryFailure as error:
            services.committer.for_directory(error.directory).fail(error)
            raise

    async def _link(self, holds: list[LogHold]) -> None:
        from odradek.storage.backup.cut import link_all

        run = self._services.disk_threads.run
        for _ in range(_LINK_TRIES):
            for hold in holds:
                hold.plan()
            missed = await run(link_all, holds)
            again = [hold for hold in holds if not hold.is_valid()]
            if any(hold.is_valid() for hold in missed):
                break
            if not again:
                return
            await self._remove(again)
            holds = again
        raise _Overtaken

    async def _let_go(self, holds: list[LogHold]) -> None:
        with suppress(KafkaStorageError, OSError):
            await self._services.disk_threads.run(self._files.unlink, self._copy)
        await self._remove(holds)

    async def _remove(self, holds: Iterable[LogHold]) -> None:
        def remove() -> None:
            for hold in holds:
                try:
                    hold.let_go()
                except (KafkaStorageError, OSError) as error:
                    _logger.warning("%s is not removed: %s", hold.directory, error)

        await self._services.disk_threads.run(remove)

    @property
    def _files(self) -> Files:
        return self._services.log_manager.files

    def _described(
        self, missing: Mapping[str, str], cuts: Iterable[LogCut]
    ) -> dict[str, Any]:
        services = self._services
        there = {str(cut.log.topic_partition) for cut in cuts}
        return {
            "clusterId": services.cluster_id,
            "nodeId": services.node_id,
            "directories": [
                str(each.path.absolute())
                for each in services.log_manager.directories
                if each.failure is None
            ],
            "catalog": str(self._copy.absolute()),
            "missing": {
                name: why for name, why in missing.items() if name not in there
            },
        }
