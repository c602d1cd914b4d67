"""One broker for all workers of pytest-xdist: the first in need starts it.

The controller has told each worker of a directory; it is made by the first in need.
Under a lock there a worker looks for a note of the broker, and starts one and leaves
the note if there is none. The broker ends with the controller, and in any case with
its process, whatever becomes of the worker.
"""

from __future__ import annotations

import fcntl
import platform
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.testing.attached import AttachedBroker, Note
from odradek.testing.errors import BrokerError
from odradek.testing.options import broker_options
from odradek.testing.process import BrokerProcess
from odradek.testing.room import new_directory
from odradek.testing.runs import did_not_start

from .options import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self


class SharedRun:
    """The brokers that a run of several processes shares."""

    def __init__(self, directory: Path, home: int, *, keep: bool) -> None:
        self._directory = directory
        self._home = home
        self._keep = keep

    @classmethod
    def of(cls, config: pytest.Config) -> Self | None:
        """None: this process starts brokers for itself."""
        told = getattr(config, "workerinput", {}).get("odradek")
        settings = Settings.of(config)
        # A worker may be on another machine, where the controller is nobody.
        if told is None or settings.per_worker or told["host"] != platform.node():
            return None
        return cls(Path(told["directory"]), told["home"], keep=settings.keep)

    def broker(self, config: Mapping[str, Any] | None, key: str) -> AttachedBroker:
        """The run's broker with this configuration.

        Raises:
            BrokerError: it does not start; workers that ask later skip.
        """
        __tracebackhide__ = True
        path = self._directory / f"{zlib.crc32(key.encode()):08x}.json"
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            with _locked(self._directory / "lock"):
                note = Note.read(path)
                if note is None:
                    note = self._start(config, path)
        except OSError as error:
            raise BrokerError(f"no broker for the run can be made: {error}") from None
        if note.error:
            pytest.skip(did_not_start(BrokerError(note.error)))
        return AttachedBroker(note)

    def _start(self, config: Mapping[str, Any] | None, path: Path) -> Note:
        __tracebackhide__ = True
        directory = new_directory(self._directory, "broker-")
        options = broker_options(config, directory / "data")
        process = BrokerProcess(
            options,
            directory / "log",
            home=self._home,
            leftover=None if self._keep else self._directory,
        )
        try:
            address = process.start(0)
        except BrokerError as error:
            Note(str(directory), error=str(error)).write(path)
            raise
        note = Note(str(directory), *address, process.release())
        note.write(path)
        return note


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Other processes wait; the lock ends with the process at the latest."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
