"""What stands between connections and the dispatcher, while somebody wants it there.

A layer is called with each frame and with what it is to be passed on to. The last one
that was put around is asked first. Without any, connections call the dispatcher itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Entry, Exchange

    from .listener import Listener


class Layer(Protocol):
    """Does what `Dispatcher.dispatch` does, by ``inner`` or in its place."""

    def __call__(
        self, inner: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """What becomes of the request in ``frame``."""


class Layers:
    """What is put around one dispatcher; connections that are open follow at once."""

    def __init__(self, dispatcher: Dispatcher, listeners: Sequence[Listener]) -> None:
        """``listeners`` may become more."""
        self._dispatcher = dispatcher
        self._listeners = listeners

    def put(self, layer: Layer, *, innermost: bool = False) -> None:
        """Ask ``layer`` first from now on; or last, just before the dispatcher."""
        layers = self._dispatcher.layers
        layers.insert(0 if innermost else len(layers), layer)
        self._rebuild()

    def take_away(self, layer: Layer) -> None:
        """As if it had never been there; what it has begun goes on."""
        self._dispatcher.layers.remove(layer)
        self._rebuild()

    def _rebuild(self) -> None:
        dispatcher = self._dispatcher
        old = dispatcher.entry
        new: Entry = dispatcher.dispatch
        for layer in dispatcher.layers:
            new = partial(layer, new)
        dispatcher.entry = new
        for listener in self._listeners:
            for connection in listener.connections:
                connection.dispatch_by(old, new)
