"""The connection of a client that has to log in: its guard meets each frame first.

Whatever is put around the dispatcher stands behind the guard. Until the client is let
in, frames are small, and may be empty (a token of SASL can be), and the connection is
one of those that `pre_auth` counts. Once it is in for good the guard steps aside, and
all is as on any other connection; while the login may end, the guard stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from odradek.broker.requests.in_pieces import InPieces

from .busy_poll import AtOnce
from .connection import Connection
from .pre_auth import CONNECTED_MS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Entry, Exchange

    from .connection import Dispatch
    from .listener import Listener
    from .pre_auth import PreAuth


_AT_ONCE = AtOnce()


class Guard(Protocol):
    """What stands in front of the dispatcher; one for each connection."""

    def meet(
        self, entry: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """What becomes of the request in ``frame``: maybe ``entry`` gets it."""

    def end(self) -> None:
        """The connection is gone."""


class Guards(NamedTuple):
    """What a listener needs whose clients log in.

    ``make`` gets what a guard calls when the client is in, with whether that may end.
    """

    make: Callable[[Callable[[bool], None]], Guard]
    pre_auth: PreAuth
    frame_size_max: int


class GuardedConnection(Connection):
    """A `Connection` with a guard."""

    __slots__ = ("_entry", "_guard", "_guards", "_is_in")

    def __init__(self, listener: Listener, guards: Guards) -> None:
        super().__init__(listener)
        self._guards = guards
        self._guard = guards.make(self._let_in)
        self._is_in = False
        self._busy_poll = _AT_ONCE
        self._reader.size_min = 0
        self._reader.max_size = min(guards.frame_size_max, self._reader.max_size)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let the client as far as the guard, or close at once."""
        super().connection_made(transport)
        if not self._is_closed:
            self._entry: Entry = self._dispatch
            self._dispatch: Dispatch = self._meet
            since_ms = transport.get_extra_info(CONNECTED_MS)
            self._guards.pre_auth.enter(self, since_ms)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything."""
        self._guards.pre_auth.leave(self)
        self._guard.end()
        super().connection_lost(exc)
        # Nor does it refer to itself in these.
        if hasattr(self, "info"):
            self._dispatch = self._entry
        del self._guard

    def dispatch_by(self, old: Dispatch, new: Dispatch) -> None:
        """Give requests that may pass to ``new``, if until now ``old`` got them."""
        if self._entry == old:
            self._entry = new
        super().dispatch_by(old, new)

    def cut(self, why: str, limit: str) -> None:
        """Close at once: it has not logged in."""
        self._cut(why, limit)

    def _meet(self, connection: ConnectionInfo, frame: memoryview) -> Exchange | bytes:
        return self._guard.meet(self._entry, connection, frame)

    def _wait_for(self, exchange: Exchange, size: int) -> None:
        """As for all, and for what the guard answers to be sent in pieces."""
        route, correlation_id, answer, _ = exchange
        if not isinstance(answer, InPieces):
            super()._wait_for(exchange, size)
        elif self._listener.tls is None:  # nothing is left in a client's buffers
            self._responses.add_ready(route, correlation_id, answer.response, None)
        else:
            for piece in answer.parked(route, correlation_id, self._network.clock):
                self._responses.park(route, correlation_id, piece, 0)

    def _let_in(self, may_end: bool) -> None:
        """The client is in; ``may_end``: not for good."""
        if self._is_in:
            return
        self._is_in = True
        self._busy_poll = self._network.busy_poll
        self._guards.pre_auth.leave(self)
        self._reader.size_min = 1
        self._reader.max_size = self._network.options.socket_request_max_bytes
        if not may_end:
            # Frames of the same read still meet the guard, which passes them on.
            self._dispatch = self._entry
