"""The ring of calls, and the layer that fills it.

Invariants: calls have numbers without gaps, in the order in which their answers were
there. The ring has the last ones: at most `CALLS_MAX`, and so many bytes. What a call
was is kept as bytes and decoded for who asks; only what is large is made small at once.
The layer is around all that rules do: what they answer is what is written down.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from odradek.broker.control.following import THERE, follow

from .recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.control.faults.rules import Rules
    from odradek.broker.network.entry import Layers
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Entry, Exchange
    from odradek.broker.requests.services import Services

    from .reading import Reading

CALLS_MAX = 10_000
BYTES_MAX = 64 << 20


class Journal:
    """What was asked since somebody began to write it down."""

    def __init__(
        self,
        services: Services,
        reading: Reading,
        layers: Layers,
        rules: Rules,
        calls_max: int = CALLS_MAX,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self.calls: deque[Recorded] = deque()
        self.next_number = 0
        self._services = services
        self._now_ms = services.clock.now_ms
        self._reading = reading
        self._layers = layers
        self._layer = self._dispatch
        self._rules = rules
        self._writers = 0
        self._calls_max, self._bytes_max = calls_max, bytes_max
        self._size = 0
        self._listeners: set[Callable[[], object]] = set()

    @property
    def is_on(self) -> bool:
        """Whether calls are written down."""
        return self._writers > 0

    @property
    def first_number(self) -> int:
        """Of the oldest call that is still there."""
        return self.next_number - len(self.calls)

    def begin(self) -> int:
        """Write calls down from now on. Returns the number of the next one."""
        self._writers += 1
        if self._writers == 1:
            self._layers.put(self._layer)
        return self.next_number

    def end(self) -> None:
        """One who began has enough. Does nothing when nobody has begun."""
        if self._writers == 0:
            return
        self._writers -= 1
        if self._writers == 0:
            self._layers.take_away(self._layer)

    def clear(self) -> None:
        """Forget all calls; their numbers are not used again."""
        self.calls.clear()
        self._size = 0

    def listen(self, listener: Callable[[], object]) -> None:
        """Call ``listener`` after each call that is written down."""
        self._listeners.add(listener)

    def unlisten(self, listener: Callable[[], object]) -> None:
        """Call it no more."""
        self._listeners.discard(listener)

    def since(self, number: int) -> list[Recorded]:
        """The calls from this number on, as far as they are there."""
        count = self.next_number - max(number, self.first_number)
        if count <= 0:
            return []
        calls = self.calls
        return [calls[at] for at in range(len(calls) - count, len(calls))]

    def _dispatch(
        self, inner: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """As ``inner``, written down."""
        began_s = perf_counter()
        self._rules.worked = ()
        call = Recorded(connection, frame, began_s)
        try:
            exchange = inner(connection, frame)
        except Exception as error:
            call.outcome = f"failed: {error}"
            self._note(call, None)
            raise
        if isinstance(exchange, bytes):
            call.is_framed = True
            self._note(call, exchange)
            return exchange
        call.rules = self._rules.worked
        route, _, answer, _ = exchange
        kind = type(answer)
        # As `follow` does, without a function made for it.
        if kind is route.response_class or kind in THERE:
            self._note(call, answer)
            return exchange
        followed = follow(answer, partial(self._told, call))
        if followed is answer:
            return exchange
        return exchange._replace(answer=followed)

    def _told(
        self,
        call: Recorded,
        answer: Any,
        *,
        is_framed: bool = False,
        error: object = None,
    ) -> None:
        call.is_framed = is_framed
        if error is not None:
            call.outcome = f"failed: {type(error).__name__}"
        self._note(call, answer)

    def _note(self, call: Recorded, answer: Any) -> None:
        """It is answered, or never will be."""
        call.elapsed_s = perf_counter() - call.began_s
        call.ended_ms = self._now_ms()
        call.number, self.next_number = self.next_number, self.next_number + 1
        call.take(answer)
        if call.is_large:
            self._make_small(call)
        self._size += call.size
        calls = self.calls
        calls.append(call)
        while len(calls) > self._calls_max or self._size > self._bytes_max:
            self._size -= calls.popleft().size
        for listener in list(self._listeners) if self._listeners else ():
            listener()

    def _make_small(self, call: Recorded) -> None:
        try:
            call.make_small(self._reading.decoded(call))
        except Exception as error:  # the answer goes out all the same
            self._services.bugs.record("the journal", error)
            call.make_small(self._reading.unread(call))
