"""``drop``, ``truncate``, ``garble``: answers that are lost, cut off or damaged.

``drop`` closes the connection, ``at`` "before" the request is done or "after". What was
asked before is answered; what was asked behind it is not done. ``truncate`` sends so
many ``bytes`` of the answer and closes; ``garble`` turns over so many ``bits`` behind
its correlation id.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from odradek.broker.control.answers import Raw, frame_of
from odradek.broker.requests.registry import NO_RESPONSE

from .action import AFTER, BEFORE, Action

if TYPE_CHECKING:
    from odradek.broker.control.fields import Fields
    from odradek.broker.requests.dispatch import Exchange

    from .call import Call, Proceed
    from .match import Match

_HEAD_SIZE = 8  # length and correlation id: without them it would be no answer at all


class Drop(Action):
    """Closes the connection without an answer."""

    name = "drop"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.at = fields.choice("at", (BEFORE, AFTER), BEFORE)
        fields.end()

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """Nothing more is begun on this connection."""
        exchange: Exchange | bytes = call.unanswered()
        if self.at == AFTER:
            exchange = call.changed(proceed(call.frame), lambda _: NO_RESPONSE)
        call.connection.close()
        return exchange


class Truncate(Action):
    """Sends the beginning of the answer, its length included, and closes."""

    name = "truncate"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.bytes = fields.number("bytes", at_least=0)
        fields.end()

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """Nothing more is begun on this connection."""

        def cut(answer: Any) -> Any:
            frame = frame_of(call.route, call.header.correlation_id, answer)
            return Raw(frame[: self.bytes])

        exchange = call.changed(proceed(call.frame), cut)
        call.connection.close()
        return exchange


class Garble(Action):
    """Turns over bits of the answer; the connection goes on."""

    name = "garble"

    def __init__(self, fields: Fields, match: Match) -> None:
        self.bits = fields.number("bits", 1, at_least=1, at_most=10_000)
        self.seed = fields.number("seed", 0)
        fields.end()
        self._random = random.Random(self.seed)

    def act(self, call: Call, proceed: Proceed) -> Exchange | bytes:
        """Whoever reads it has to notice."""

        def garble(answer: Any) -> Any:
            frame = bytearray(frame_of(call.route, call.header.correlation_id, answer))
            for _ in range(self.bits if len(frame) > _HEAD_SIZE else 0):
                position = self._random.randrange(_HEAD_SIZE, len(frame))
                frame[position] ^= 1 << self._random.randrange(8)
            return Raw(bytes(frame))

        return call.changed(proceed(call.frame), garble)
