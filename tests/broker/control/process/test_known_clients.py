from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.control.process.known_clients import (
    KnownClients,
    NotingDispatcher,
    NotingHandlers,
)
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.requests.needs import NOTHING as NO_NEEDS
from odradek.broker.requests.registry import Handler
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from odradek.protocol.schema import Request
from tests.fakes.no_options import NO_OPTIONS

NOTHING: Any = None
HEARTBEAT, FIND_COORDINATOR = 12, 10


def connection() -> ConnectionInfo:
    return ConnectionInfo(close=lambda: None)


def beaten(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=7)


def found(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    return FindCoordinatorResponse()


HANDLERS = {
    HEARTBEAT: Handler(
        HeartbeatRequest, HeartbeatResponse, beaten, 0, 4, 0, 4, NO_NEEDS
    ),
    FIND_COORDINATOR: Handler(
        FindCoordinatorRequest, FindCoordinatorResponse, found, 0, 4, 0, 4, NO_NEEDS
    ),
}


def dispatcher(clients: KnownClients) -> NotingDispatcher:
    config = BrokerConfig()
    services: Any = SimpleNamespace(
        bugs=Bugs(),
        config=config,
        live=LiveConfig(config),
        resources=NO_OPTIONS,
        authorizer=None,
        cluster=None,
    )
    return NotingDispatcher(clients, services, HANDLERS)


def frame_of(request: Request, client_id: str | None) -> memoryview:
    return memoryview(bytes(encode_request(request, 4, 1, client_id)))[4:]


def test_a_connection_is_known_by_its_client_id() -> None:
    clients, one, other = KnownClients(), connection(), connection()
    assert clients.client_id(one) == ""
    clients.note(one, "shop")
    clients.note(other, "bank")
    assert (clients.client_id(one), clients.client_id(other)) == ("shop", "bank")


def test_a_member_is_connected_while_its_last_connection_is_open() -> None:
    clients, first, second = KnownClients(), connection(), connection()
    assert not clients.is_connected("g", "m")
    clients.note_member(first, "g", "m")
    clients.note_member(second, "g", "m")
    first.forget_connection()
    assert clients.is_connected("g", "m")
    assert not clients.is_connected("h", "m")
    second.forget_connection()
    assert not clients.is_connected("g", "m")


def test_those_that_have_gone_are_forgotten_in_time() -> None:
    clients, stays = KnownClients(), connection()
    clients.note(stays, "stays")
    clients.note_member(stays, "g", "m")
    for number in range(5000):
        gone = connection()
        clients.note(gone, "gone")
        clients.note_member(gone, "g", f"{number}")
        gone.forget_connection()
    assert len(clients._client_ids) < 1500
    assert len(clients._members) < 1500
    assert clients.client_id(stays) == "stays"
    assert clients.is_connected("g", "m")


def test_what_a_member_asks_is_noted_and_other_handlers_are_as_they_were() -> None:
    clients, here = KnownClients(), connection()
    handlers = NotingHandlers(HANDLERS, clients)
    assert (len(handlers), list(handlers)) == (2, [HEARTBEAT, FIND_COORDINATOR])
    assert handlers.get(13) is None
    assert handlers[FIND_COORDINATOR] is HANDLERS[FIND_COORDINATOR]
    noting = handlers[HEARTBEAT]
    assert noting[:2] == HANDLERS[HEARTBEAT][:2]
    ctx = RequestContext(NOTHING, here, HEARTBEAT, 4, 1, "shop")
    answer: Any = noting.function(ctx, HeartbeatRequest(group_id="g", member_id="m"))
    assert answer.error_code == 7
    assert clients.is_connected("g", "m")
    noting.function(ctx, HeartbeatRequest(group_id="g"))
    assert not clients.is_connected("g", "")


def test_a_connection_says_who_it_is_with_its_first_request() -> None:
    clients, here, nameless = KnownClients(), connection(), connection()
    asked = dispatcher(clients)
    asked.entry(here, frame_of(FindCoordinatorRequest(), "shop"))
    asked.entry(nameless, frame_of(FindCoordinatorRequest(), None))
    assert (clients.client_id(here), clients.client_id(nameless)) == ("shop", "")
    here.become("User:alice")  # it logs in, and may be somebody else
    asked.entry(here, frame_of(FindCoordinatorRequest(), "bank"))
    assert clients.client_id(here) == "bank"


def test_later_requests_are_dispatched_as_by_any_dispatcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients, here = KnownClients(), connection()
    asked = dispatcher(clients)
    frame = frame_of(FindCoordinatorRequest(), "shop")
    for _ in range(2):
        asked.entry(here, frame)
    monkeypatch.setattr(NotingDispatcher, "dispatch_first", None)
    assert isinstance(asked.entry(here, frame), tuple)


def test_bytes_that_are_no_request_are_nobodys() -> None:
    clients, here = KnownClients(), connection()
    asked = dispatcher(clients)
    for frame in (b"", b"\x00", b"\x00\x0a\x00\x04\x00\x00\x00\x01\x7f\xff"):
        with pytest.raises(MalformedRequest):
            asked.entry(here, memoryview(frame))
    assert clients.client_id(here) == ""
