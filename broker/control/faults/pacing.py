"""``bandwidth`` and ``dribble``: answers that leave piece by piece.

``bandwidth`` sends so many ``bytes`` of an answer a second, ``dribble`` so many
``bytes`` every ``ms``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.control.answers import Raw, frame_of
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked

from .action import Action

if TYPE_CHECKING:
    from odradek.broker.control.fields import Fields
    from odradek.broker.network.connection import Connection
    from odradek.broker.requests.dispatch import Exchange

    from .call import Call, Proceed
    from .match import Match

_STEP_MS = 50
_MS_MAX = 60_000


class Dribble(Action):
    """Sends an answer in pieces."""

    name = "dribble"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.bytes = fields.number("bytes", 1, at_least=1)
        self.ms = fields.number("ms", 10, at_least=1, at_most=_MS_MAX)
        fields.end()
        self._size, self._every_ms = self.bytes, self.ms

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """As a thin line would; what comes behind waits for all of it."""
        connection: Any = getattr(call.connection.close, "__self__", None)

        def send(answer: Any) -> Any:
            frame = frame_of(call.route, call.header.correlation_id, answer)
            if connection is None:  # it is gone
                return Raw(frame)
            return Pieces(call, connection, frame, self._size, self._every_ms).told

        return call.changed(proceed(call.frame), send)


class Bandwidth(Dribble):
    """Sends answers at a rate."""

    name = "bandwidth"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.bytes = fields.number("bytes", at_least=1)
        fields.end()
        each = self.bytes * _STEP_MS // 1000
        self._size = max(each, 1)
        self._every_ms = _STEP_MS if each else max(1000 // self.bytes, 1)


class Pieces:
    """One answer on its way: all but its last piece is written past the queue."""

    def __init__(
        self,
        call: Call,
        connection: Connection,
        frame: bytes,
        size: int,
        every_ms: int,
    ) -> None:
        self.told: Parked[Any] = Parked()
        self._correlation_id = call.header.correlation_id
        self._clock = call.services.clock
        self._connection = connection
        self._left = memoryview(frame)
        self._size, self._every_ms = size, every_ms
        self._step_later()

    def _step_later(self) -> None:
        self._clock.call_later(self._every_ms, self._step)

    def _step(self) -> None:
        queue = self._connection._responses
        if queue._transport is None:
            self.told.set_result(NO_RESPONSE)  # for nobody
            return
        if self._has_its_turn() and not queue.is_held:
            piece, self._left = self._left[: self._size], self._left[self._size :]
            if not self._left:
                self.told.set_result(Raw(bytes(piece)))
                return
            queue.flush()
            queue._transport.write(bytes(piece))
        self._step_later()

    def _has_its_turn(self) -> bool:
        waiting = self._connection._responses.waiting
        return bool(waiting) and waiting[0].correlation_id == self._correlation_id
