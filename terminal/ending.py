"""How a signal ends a command that has something to leave in order.

A signal raises an exception wherever the command is just then. It is noted, too:
Python drops an exception that comes up where nobody can catch it, as in the callback
with which an import ends, and the command would then go on as if nobody had told it.
Who goes round in a loop asks `Ending.check`.
"""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

BY_KEYBOARD = (signal.SIGINT,)
BY_ANYBODY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# `timeout` and the like tell a process, and then its group: the process hears it twice.
# Nobody types these; who types SIGINT twice means it, however fast.
_TOGETHER_S = 1.0


class Ending:
    """Whether a command is told to end.

    While it leaves (``is_leaving``) the first signal is only noted, as leaving takes
    some seconds at most. With a second one it ``is_urgent``: nothing is left in order.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self.is_leaving = False
        self.is_urgent = False
        self._now_s = now_s
        self._number: int | None = None
        self._told_at_s = 0.0

    def check(self) -> None:
        """Raise what the signal has raised, if there was any."""
        if self._number is not None:
            self._raise(self._number)

    def tell(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        now_s = self._now_s()
        if self._number is None:
            self._told_at_s = now_s
        elif number == signal.SIGINT or now_s - self._told_at_s >= _TOGETHER_S:
            self.is_urgent = True
        else:
            return  # it is the first one, once more
        self._number = number
        if self.is_urgent or not self.is_leaving:
            self._raise(number)

    def _raise(self, number: int) -> None:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


@contextmanager
def ended_by(numbers: Sequence[signal.Signals]) -> Iterator[Ending]:
    """Let these signals end what is inside, but for those that were to be ignored."""
    ending = Ending()
    before = {
        each: handler
        for each in numbers
        if (handler := signal.getsignal(each)) not in (signal.SIG_IGN, None)
    }
    try:
        for each in before:
            signal.signal(each, ending.tell)
        yield ending
        ending.check()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
