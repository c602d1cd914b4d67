"""The broker's own log lines: on standard error, one event a line, times in UTC.

As text for people, who are told the part of the broker that speaks, or as JSON for
machines: ``time``, ``level``, ``logger`` and ``message``, what an event carries beside
its message (``extra``), and ``error`` with the traceback of a bug.
"""

from __future__ import annotations

import logging
import sys
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TextIO

TEXT, JSON = "text", "json"
_FORMAT = "%(asctime)s %(levelname)-7s %(place)s: %(message)s"
# Of these rooms of the broker people know those inside.
_OUTER_ROOMS = frozenset({"coordinator", "handlers", "runtime", "upkeep"})
# Words for rooms that have others in the code.
_PLACES = {
    "cli": "serve",
    "coordinator": "coordinators",
    "durability": "logs",
    "group": "groups",
    "memory": "clients",
    "network": "clients",
    "replica": "logs",
    "storage": "logs",
    "transaction": "transactions",
    "upkeep": "logs",
}
# What every record has; the rest came as ``extra``.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "place",
    "taskName",
}


class _LineFormatter(logging.Formatter):
    """Milliseconds and Z.

    What is in a message can neither start a false line nor steer a terminal.
    """

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    _last = (0, "")  # a second, and how it is written

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """As Python's; a second is put into words once, and then kept.

        Each login is a line: that is most of what a line costs besides its text.
        """
        del datefmt
        second, text = self._last
        if second != int(record.created):
            second = int(record.created)
            text = time.strftime(self.default_time_format, time.gmtime(second))
            self._last = second, text
        return f"{text}.{int(record.msecs):03d}Z"

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line; what clients sent stays on it."""
        if not record.message.isprintable():
            record.message = "".join(map(_shown, record.message))
        record.place = place_of(record.name)
        return super().formatMessage(record)


def _shown(letter: str) -> str:
    """A letter, or how Python writes one that cannot be seen: ``\\x1b``."""
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


class _JsonFormatter(_LineFormatter):
    """An object a line, a traceback too."""

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        event: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        event.update(
            (name, value)
            for name, value in vars(record).items()
            if name not in _USUAL and name not in event
        )
        if record.exc_info:
            event["error"] = self.formatException(record.exc_info)
        import json  # few want it

        return json.dumps(event, ensure_ascii=False, default=str)


@lru_cache(maxsize=256)
def place_of(logger: str) -> str:
    """The part of the broker that a logger speaks for, in a word: ``groups``."""
    rooms = logger.removeprefix("odradek.").split(".")
    if rooms[0] == "broker" and len(rooms) > 1:
        rooms.pop(0)
        if rooms[0] in _OUTER_ROOMS and len(rooms) > 2:
            rooms.pop(0)
    return _PLACES.get(rooms[0], rooms[0])


def counted(count: int, what: str) -> str:
    """``1 log``, ``2 logs``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def event_line(message: str, **fields: object) -> str:
    """A JSON line that is written elsewhere, as one of the logs would be."""
    record = logging.makeLogRecord(
        {"name": "odradek", "levelname": "INFO", "msg": message, **fields}
    )
    return _JsonFormatter().format(record)


def configure_logs(
    level: str, stream: TextIO | None = None, *, form: str = TEXT
) -> None:
    """Send every logger's lines from ``level`` on to ``stream`` (standard error).

    ``form`` is "text" or "json".
    """
    # No line says from which of our lines it comes, nor thread or process: to find it
    # out is a quarter of what a line costs, and strangers can have lines written.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(stream or sys.stderr)
    formatter = _JsonFormatter() if form == JSON else _LineFormatter(_FORMAT)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
