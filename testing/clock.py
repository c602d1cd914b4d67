"""The broker's clock, moved by tests. That of the clients stays where it is.

So records that clients stamp behind an `advance` are as old for the broker, and old
enough for retention maybe; ``message.timestamp.type=LogAppendTime`` has the broker
stamp them. Behind a `jump` back by more than an hour they come from the future, which
``message.timestamp.after.max.ms`` refuses. A broker that is started anew has the
machine's time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .undo import Undo

if TYPE_CHECKING:
    from .broker import Broker

_MS = timedelta(milliseconds=1)


class Clock:
    """``broker.clock``. Durations are `timedelta`, or numbers of milliseconds."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def now(self) -> datetime:
        """What the broker takes for now, in UTC."""
        (now,) = self._broker.ask("clock.now")
        return _moment(now)

    def advance(self, by: timedelta | float, sessions: str = "keep") -> datetime:
        """Let so much time pass, and return when all that it brings about is done.

        What was due has run, in its order, and what is looked for from time to time
        was looked for at the end: retention, transactions that take too long,
        compaction. With ``sessions="keep"`` members of groups whose connection is open
        stay members; with "expire" they go when their session is over, and rejoin.

        Raises:
            Refused: it is negative, or the broker is frozen.
        """
        (now,) = self._broker.ask("clock.advance", ms=_ms(by), sessions=sessions)
        return _moment(now)

    def jump(self, by: timedelta | float) -> datetime:
        """Set the wall clock forward, or back, as somebody who corrects it.

        No time passes: no session ends by it, and retention does not believe a leap
        forward before an hour has passed.
        """
        (now,) = self._broker.ask("clock.jump", ms=_ms(by))
        return _moment(now)

    def freeze(self) -> Undo:
        """Let time stand still, until `thaw` or the end of the ``with`` block.

        Requests are answered, but nothing is ever due; `advance` moves it on.
        """
        self._broker.ask("clock.freeze")
        return Undo(self.thaw)

    def thaw(self) -> None:
        """Let time go on, from where it stands."""
        self._broker.ask("clock.thaw")


def _ms(by: timedelta | float) -> int:
    return round(by / _MS if isinstance(by, timedelta) else by)


def _moment(item: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(item["now_ms"] / 1000, UTC)
