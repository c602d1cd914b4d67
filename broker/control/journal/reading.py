"""Calls of the journal, decoded for who asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.control.answers import Raw, body_of
from odradek.broker.control.apis import name_of_api
from odradek.broker.control.subject import Subject
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.headers import RequestHeader
from odradek.protocol.schema import Response

from .shown import Shown, code_names

if TYPE_CHECKING:
    from odradek.broker.control.faults.match import Match
    from odradek.broker.requests.dispatch import Dispatcher
    from odradek.broker.requests.services import Services

    from .recorded import Recorded

_KEY_END, _VERSION_END, _ID_END = 2, 4, 8


class Decoded(NamedTuple):
    """A call for people."""

    header: RequestHeader
    subject: Subject
    codes: list[str]  # NONE, when all went well; empty without an answer
    request: dict[str, Any] | None
    answer: dict[str, Any] | None
    answer_size: int  # without its head


class Reading:
    """Decodes calls; ``has_records``: with the records, where they are still there."""

    def __init__(
        self, dispatcher: Dispatcher, services: Services, *, has_records: bool = False
    ) -> None:
        self._dispatcher = dispatcher
        self._services = services
        self._shown = Shown(services, has_records=has_records)

    def decoded(self, call: Recorded) -> Decoded:
        """What was asked and answered."""
        if call.small is not None:
            small: Decoded = call.small
            return small
        frame = memoryview(call.request)
        try:
            route, header, request = self._dispatcher.read(frame)
        except (MalformedRequest, KafkaError):
            return self.unread(call)
        version = header.api_version
        shown = None if request is None else self._shown.message(request, version)
        subject = Subject()
        if request is not None:
            subject = Subject.of(request, self._services)
        response = body_of(route, call.answer, call.is_framed)
        if response is None or response is NO_RESPONSE or isinstance(response, Raw):
            size = len(response.data) if isinstance(response, Raw) else 0
            return Decoded(header, subject, [], shown, None, size)
        assert isinstance(response, Response)
        answer = self._shown.message(response, version)
        size = sum(len(each) for each in route.encode(response))
        return Decoded(header, subject, code_names(response), shown, answer, size)

    def unread(self, call: Recorded) -> Decoded:
        """A call of which no more can be said than which API it was for."""
        header = _header_in(memoryview(call.request))
        return Decoded(header, Subject(), [], None, None, 0)

    def is_meant(
        self, call: Recorded, match: Match, code: str | None, rule: int | None
    ) -> bool:
        """Whether it is a call that somebody asks for."""
        if rule is not None and rule not in call.rules:
            return False
        if match.api is not None and match.api != _api_of(call):
            return False
        decoded = self.decoded(call)
        if code is not None and code not in decoded.codes:
            return False
        return match.admits(decoded.header, call.connection, decoded.subject)

    def item(self, call: Recorded) -> dict[str, Any]:
        """For an answer in JSON; times in milliseconds."""
        decoded, connection = self.decoded(call), call.connection
        header = decoded.header
        return {
            "number": call.number,
            "api": name_of_api(header.api_key),
            "version": header.api_version,
            "client_id": header.client_id,
            "connection": f"{connection.peer_host}:{connection.peer_port}",
            "correlation_id": header.correlation_id,
            "ended_ms": call.ended_ms,
            "elapsed_ms": round(call.elapsed_s * 1000, 3),
            "outcome": call.outcome,
            "codes": decoded.codes,
            "rules": list(call.rules),
            "request_size": call.request_size,
            "answer_size": decoded.answer_size,
            "request": decoded.request,
            "answer": decoded.answer,
        }


def _api_of(call: Recorded) -> int:
    if call.small is not None:
        key: int = call.small.header.api_key
        return key
    return int.from_bytes(call.request[:_KEY_END], "big")


def _header_in(frame: memoryview) -> RequestHeader:
    """What can be read of a request that nobody knows."""
    return RequestHeader(
        int.from_bytes(frame[:_KEY_END], "big"),
        int.from_bytes(frame[_KEY_END:_VERSION_END], "big"),
        int.from_bytes(frame[_VERSION_END:_ID_END], "big", signed=True),
    )
