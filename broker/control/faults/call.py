"""One request that a rule is at work on."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.control.answers import after, exchanged
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.protocol.headers import encode_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from odradek.broker.control.answers import Finish
    from odradek.broker.control.subject import Subject
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Exchange, Route
    from odradek.broker.requests.services import Services
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.headers import RequestHeader

    # What becomes of a request: that of the call, or another in its place.
    Proceed = Callable[[memoryview], Exchange | bytes]

_LENGTH_SIZE = 4


class Call(NamedTuple):
    """A request, decoded, and what it came by."""

    connection: ConnectionInfo
    frame: memoryview
    route: Route
    header: RequestHeader
    request: Any
    subject: Subject
    worked: list[int]  # the ids of the rules that were at work on it
    services: Services
    dispatcher: Dispatcher

    def answered(self, answer: Any) -> Exchange:
        """``answer``, for the connection."""
        return exchanged(self.route, self.header.correlation_id, answer, self.request)

    def unanswered(self) -> Exchange:
        """Nothing, for the connection."""
        return self.answered(NO_RESPONSE)

    def changed(self, exchange: Exchange | bytes, finish: Finish) -> Exchange:
        """What ``finish`` makes of the answer, when it is there; of none, none."""

        def finish_it(answer: Any) -> Any:
            return answer if answer is NO_RESPONSE else finish(answer)

        return self.answered(after(self.route, exchange, finish_it))

    def once(self, waited: Awaitable[Any], proceed: Proceed) -> Exchange:
        """Go on when ``waited`` is over; nothing of the connection overtakes it."""
        frame = memoryview(bytes(self.frame))

        async def go_on() -> Any:
            await waited
            answer = after(self.route, proceed(frame), lambda answer: answer)
            return await answer if inspect.iscoroutine(answer) else answer

        return self.answered(go_on())

    def refused(self, request: Any, error: KafkaError) -> Any:
        """The answer to a request that is refused as a whole.

        Raises:
            MalformedRequest: it has no place for that: the connection closes.
        """
        return self.dispatcher.failure(self.route, request, error)

    def frame_of(self, request: Any) -> memoryview:
        """Another request by the same header."""
        _, version, correlation_id, client_id = self.header
        whole = encode_request(request, version, correlation_id, client_id)
        return memoryview(whole)[_LENGTH_SIZE:]
