"""The broker of a run, for who is no fixture: made at first use, ended with the run.

The plugin for pytest puts its own in place (`use`), so that all share one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from .names import Names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .broker import Broker
    from .errors import BrokerError


class Run(Protocol):
    """What gives a process its brokers, and its names."""

    names: Names

    def shared(self) -> Broker:
        """The broker that all tests use."""

    def own(self, config: Mapping[str, Any] | None = None) -> Broker:
        """One that has been started, for who asks alone; to be closed."""


class PlainRun:
    """That of a process in which no plugin is at work."""

    def __init__(self) -> None:
        self.names = Names("main")
        self._shared: Broker | None = None
        self._failure: BrokerError | None = None
        self._home = 0

    def shared(self) -> Broker:
        """The same for all. The first to ask learns why there is none; others skip.

        Raises:
            BrokerError: it does not start.
            SkipTest: it did not start when it was asked for before.
        """
        if self._failure is not None:
            from unittest import SkipTest

            raise SkipTest(did_not_start(self._failure))
        if self._shared is None:
            from .errors import BrokerError

            try:
                self._shared = self.own()
            except BrokerError as error:
                self._failure = error
                raise
            self._shared.is_shared = True
            import atexit

            self._home = os.getpid()
            atexit.register(self.close)
        return self._shared

    def own(self, config: Mapping[str, Any] | None = None) -> Broker:
        """One that has been started, for who asks alone; to be closed."""
        from .broker import Broker

        return Broker(config).__enter__()

    def close(self) -> None:
        """End the shared one."""
        broker, self._shared = self._shared, None
        # A process that was forked from this one has no part in it.
        if broker is not None and os.getpid() == self._home:
            broker.is_shared = False
            broker.close()


def did_not_start(error: BrokerError) -> str:
    """What those are told who come after the first."""
    reason = str(error).rstrip().rpartition("\n")[2]
    return f"the broker did not start, as an earlier error says: {reason}"


Find = Callable[[], Run]
_find: Find | None = None
_plain: PlainRun | None = None


def current() -> Run:
    """That of this process."""
    global _plain
    if _find is not None:
        return _find()
    if _plain is None:
        _plain = PlainRun()
    return _plain


def use(find: Find | None) -> Find | None:
    """From now on this one is asked. Returns which it was before."""
    global _find
    before, _find = _find, find
    return before
