"""``disk``: files that are slow, or whose writes and syncs fail.

``kind`` is "slow" (``ms`` for each write and sync, or those of one kind with ``of``;
writes are made by the loop: all of the broker waits), "fail_sync" and "fail_write"
(``errno``, by default EIO), "short_write" (half of it, then the disk is full) or
"full". Of a rule's ``match`` only ``topic`` and ``partition`` count; without them it is
for all files of logs, those of the broker's own topics too, but not for the catalogue.

While no such rule is armed files are those of any broker: it is their class that is
changed, and not what they are asked.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from odradek.broker.control.fields import Fields, refusal
from odradek.storage.files.files import OsFile, OsFiles, failure
from odradek.terminal.spelling import did_you_mean

from .action import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from odradek.broker.durability.committer import Committer
    from odradek.broker.requests.dispatch import Exchange
    from odradek.storage.files.files import Buffer

    from .call import Call, Proceed
    from .match import Match
    from .rules import Rule

SLOW, FAIL_SYNC, FAIL_WRITE = "slow", "fail_sync", "fail_write"
SHORT_WRITE, FULL = "short_write", "full"
WRITE, SYNC = "write", "sync"
_KINDS = (SLOW, FAIL_SYNC, FAIL_WRITE, SHORT_WRITE, FULL)
_SLOW_MS_MAX = 60_000
_DIRECTORY = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)")


class Disk(Action):
    """Does something to writes or syncs."""

    name = "disk"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.kind = fields.choice("kind", _KINDS)
        if self.kind == SLOW:
            self.ms = fields.number("ms", at_least=1, at_most=_SLOW_MS_MAX)
            self.of = fields.choice("of", (WRITE, SYNC), None)
        if self.kind in (FAIL_SYNC, FAIL_WRITE):
            self.errno = fields.text("errno", "EIO").upper()
            self._number = _errno_named(self.errno)
        fields.end()
        if said := match.shown().keys() - {"topic", "partition"}:
            raise refusal(f"a file has no {sorted(said)[0]}: match topic and partition")

    def api_keys(self, match: Match) -> Iterable[int]:
        """No request has to be looked at."""
        return ()

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """Nothing: files alone are touched."""
        return proceed(call.frame)

    def is_for(self, what: str) -> bool:
        """Whether it does something to writes, or to syncs."""
        if self.kind == SLOW:
            return self.of in (None, what)
        return (self.kind == FAIL_SYNC) is (what == SYNC)

    def fail(self) -> None:
        """Wait, or raise what the system would.

        Raises:
            OSError: it fails.
        """
        if self.kind == SLOW:
            time.sleep(self.ms / 1000)
            return
        number = getattr(self, "_number", errno.ENOSPC)
        kind = ShortWrite if self.kind == SHORT_WRITE else OSError
        raise kind(number, os.strerror(number))


class FaultyFiles(OsFiles):
    """The operating system's files, of which some do not work while a rule says so."""

    def __init__(self, max_open_files: int) -> None:
        super().__init__(max_open_files)
        self.committer: Committer | None = None
        self.tell: Callable[[Rule], object] = _ignore  # from any thread
        self._all: WeakSet[OsFile] = WeakSet()
        self._class: type[OsFile] = OsFile
        self._rules: Sequence[Rule] = ()
        self._lock = threading.Lock()
        self._file_systems: dict[Any, Any] = {}

    def file(self, path: Path, size: int) -> OsFile:
        """As `OsFiles.file`."""
        with self._lock:
            file = self._class(self, path, size)
            self._all.add(file)
        return file

    def follow(self, rules: Sequence[Rule]) -> None:
        """These are armed now."""
        self._rules = rules
        with self._lock:
            self._class = FaultyFile if rules else OsFile
            for file in self._all:
                file.__class__ = self._class
        self._sync_one_by_one(any(_action(rule).is_for(SYNC) for rule in rules))

    def meet(self, path: Path, what: str) -> None:
        """A file is about to be written or synced.

        Raises:
            OSError: that fails.
        """
        with self._lock:
            met = [rule for rule in self._rules if _is_meant(rule, path, what)]
        for rule in met:
            self.tell(rule)
            _action(rule).fail()

    def _sync_one_by_one(self, is_wanted: bool) -> None:
        """A sync of the whole file system would pass all files by."""
        if self.committer is None or is_wanted is bool(self._file_systems):
            return
        for each in self.committer.directories:
            plain = each._plain
            if plain is not None and is_wanted:
                strategy = plain._strategy
                self._file_systems[strategy] = strategy.file_system
                strategy.file_system = None
        if not is_wanted:
            for strategy, file_system in self._file_systems.items():
                strategy.file_system = file_system
            self._file_systems.clear()


class FaultyFile(OsFile):
    """A file that asks before each write and sync."""

    def append(self, data: Buffer) -> None:
        """As `OsFile.append`, if that works."""
        files: Any = self._files
        try:
            files.meet(self.path, WRITE)
        except ShortWrite as error:
            descriptor = self.lease()
            os.pwrite(descriptor.number, memoryview(data)[: len(data) // 2], self.size)
            self._cut_back(descriptor, error)
        except OSError as error:
            raise failure(self.path, error) from error
        super().append(data)

    def sync(self) -> None:
        """As `OsFile.sync`, if that works."""
        files: Any = self._files
        try:
            files.meet(self.path, SYNC)
        except OSError as error:
            self.is_dirty = False
            raise self.sync_failure(error) from error
        super().sync()


class ShortWrite(OSError):
    """The disk is full in the middle of it."""


def _action(rule: Rule) -> Disk:
    action = rule.action
    assert isinstance(action, Disk)
    return action


def _is_meant(rule: Rule, path: Path, what: str) -> bool:
    if not _action(rule).is_for(what):
        return False
    place = _DIRECTORY.fullmatch(path.parent.name)
    if rule.match.names_places and place is None:
        return False
    if place is not None and not rule.match.has_place(place[1], int(place[2])):
        return False
    return rule.when.hits()


def _errno_named(name: str) -> int:
    number = getattr(errno, name, None)
    if not isinstance(number, int):
        meant = did_you_mean(name, errno.errorcode.values())
        hint = f"; did you mean {meant}?" if meant else ""
        raise refusal(f"there is no errno {name!r}{hint}")
    return number


def _ignore(rule: Rule) -> None:
    """Until there are rules."""
