"""A broker that another process has started, and that many use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .broker import Broker
from .control import connected
from .errors import BrokerError
from .process import Address, BrokerProcess, end_process
from .sharing import check_shared

if TYPE_CHECKING:
    from typing import Self


class Note(NamedTuple):
    """What its users have to know of a broker; or why there is none."""

    directory: str
    host: str = ""
    port: int = 0
    pid: int = 0
    error: str = ""

    def write(self, path: Path) -> None:
        """Leave it for others, who find all of it or nothing."""
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(self), encoding="utf-8")
        beside.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """None: nobody has left one."""
        try:
            return cls(*json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None


class AttachedBroker(Broker):
    """The same as `Broker`, except that it is not ours to start or to end."""

    is_shared = True

    def __init__(self, note: Note) -> None:
        self.directory = Path(note.directory)
        self.data_dir = self.directory / "data"
        self.topics = []
        self._keep = True
        self._address = Address(note.host, note.port)
        self._process = BrokerProcess({}, self.directory / "log")
        self._pid = note.pid

    @property
    def pid(self) -> int | None:
        """The id of its process; None when it has ended."""
        return self._pid if self._answers() else None

    def close(self) -> None:
        """Refused: others use it."""
        check_shared("close")

    def end(self) -> None:
        """Stop it in order, if it still runs: nobody uses it any more."""
        # Who holds the socket of its directory is the broker that was noted.
        if self._answers():
            end_process(self._pid)

    def _answers(self) -> bool:
        try:
            connected(self.data_dir).close()
        except BrokerError:
            return False
        return True
