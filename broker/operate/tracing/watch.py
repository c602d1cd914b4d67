"""Watches functions while they run: each call of them, and each return.

From Python 3.12 on the interpreter does that (`sys.monitoring`): it puts a call into
the code of those functions, and takes it out again; no other function notices. Before,
there is only `sys.setprofile`, which is told of every call in its thread. So a watch is
on while a request that is traced is on its way, and at no other time.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType

    # (frame, whether it returns, what it returns)
    Seen = Callable[[FrameType, bool, Any], None]

_NAME = "odradek trace"
_FREE_TOOLS = (3, 4)  # of sys.monitoring: those that have no use of their own


class NoWatch(Exception):
    """Somebody else watches already: the message says so."""


class Watch(Protocol):
    """Tells ``seen`` of the calls and returns in one thread, while it is on."""

    def start(self) -> None:
        """Tell, from now on. Does nothing when it is on.

        Raises:
            NoWatch: others watch with what there is.
        """

    def stop(self) -> None:
        """Tell nothing any more. Does nothing when it is off."""


def watch_of(codes: Iterable[CodeType], seen: Seen) -> Watch:
    """A watch over these functions in the thread that asks; it is off.

    ``seen`` raises nothing: it would be raised in the function that is watched.
    """
    if sys.version_info >= (3, 12):
        return Monitoring(codes, seen)
    return Profiling(codes, seen)


class Profiling:
    """By `sys.setprofile`. A return by an exception looks like one of None."""

    def __init__(self, codes: Iterable[CodeType], seen: Seen) -> None:
        self._codes = frozenset(codes)
        self._seen = seen
        self._is_on = False

    def start(self) -> None:
        """As `Watch` says."""
        if self._is_on:
            return
        if sys.getprofile() is not None:
            raise NoWatch("the broker is being profiled")
        self._is_on = True
        sys.setprofile(self._note)

    def stop(self) -> None:
        """As `Watch` says."""
        if self._is_on:
            self._is_on = False
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, value: Any) -> None:
        if frame.f_code in self._codes and self._is_on:
            if event == "call":
                self._seen(frame, False, None)
            elif event == "return":
                self._seen(frame, True, value)


if sys.version_info >= (3, 12):

    class Monitoring:
        """By `sys.monitoring`. A return by an exception is not seen."""

        def __init__(self, codes: Iterable[CodeType], seen: Seen) -> None:
            self._codes = frozenset(codes)
            self._seen = seen
            self._thread = threading.get_ident()
            self._tool: int | None = None

        def start(self) -> None:
            """As `Watch` says."""
            if self._tool is not None:
                return
            monitoring = sys.monitoring
            free = [each for each in _FREE_TOOLS if monitoring.get_tool(each) is None]
            if not free:
                raise NoWatch("others watch the broker")
            self._tool = tool = free[0]
            events = monitoring.events
            monitoring.use_tool_id(tool, _NAME)
            monitoring.register_callback(tool, events.PY_START, self._on_start)
            monitoring.register_callback(tool, events.PY_RETURN, self._on_return)
            self._watch_for(tool, events.PY_START | events.PY_RETURN)

        def stop(self) -> None:
            """As `Watch` says."""
            if self._tool is None:
                return
            tool, self._tool = self._tool, None
            monitoring = sys.monitoring
            self._watch_for(tool, monitoring.events.NO_EVENTS)
            monitoring.register_callback(tool, monitoring.events.PY_START, None)
            monitoring.register_callback(tool, monitoring.events.PY_RETURN, None)
            monitoring.free_tool_id(tool)

        def _watch_for(self, tool: int, events: int) -> None:
            for code in self._codes:
                sys.monitoring.set_local_events(tool, code, events)

        def _on_start(self, code: CodeType, _: int) -> None:
            if threading.get_ident() == self._thread:
                self._seen(sys._getframe(1), False, None)

        def _on_return(self, code: CodeType, _: int, value: Any) -> None:
            if threading.get_ident() == self._thread:
                self._seen(sys._getframe(1), True, value)
