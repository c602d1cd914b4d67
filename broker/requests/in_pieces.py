"""An answer in pieces that leave one by one, for a client that sleeps over some of it.

Java's client takes one answer a turn while it logs in again, and then waits until its
socket has more, at most its ``request.timeout.ms``. Over TLS that may never be: what
it has received besides is decrypted, in a buffer, where its ``Selector`` looks again at
once only after reads that are no part of a login. When the answer to the handshake
comes together with answers to earlier requests, it lies there, and the client waits
for it. Every piece is something in the socket, and so a turn for one answer before it;
a pause alone is too little as soon as there are two of these.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.broker.runtime.parked import ParkedFrame

if TYPE_CHECKING:
    from odradek.broker.requests.dispatch import Route
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.primitives import Buffer

# A client has five requests under way (max.in.flight.requests.per.connection): that
# many turns for their answers, one for the rest of this, and some that come too early.
PIECE_COUNT: Final = 8
# So long a client may take for a turn.
PIECE_INTERVAL_MS: Final = 5


class InPieces(NamedTuple):
    """The answer to a request before which all are answered."""

    response: Any

    def parked(
        self, route: Route, correlation_id: int, clock: Clock
    ) -> list[ParkedFrame]:
        """The pieces, in their order; the first comes after an interval, too."""
        buffers: list[Buffer] = []
        route.write(correlation_id, self.response, buffers)
        frame = b"".join(buffers)
        last = PIECE_COUNT - 1
        pieces = [frame[at : at + 1] for at in range(last)] + [frame[last:]]
        answers = [ParkedFrame() for _ in pieces]

        def send(number: int) -> None:
            answers[number].set_result(pieces[number])
            if number < last:  # timed from now: this may have been late
                clock.call_later(PIECE_INTERVAL_MS, partial(send, number + 1))

        clock.call_later(PIECE_INTERVAL_MS, partial(send, 0))
        return answers
