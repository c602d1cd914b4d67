from typing import Any

from odradek.broker.control.process.known_clients import KnownClients, NotingHandlers
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.requests.needs import NOTHING as NO_NEEDS
from odradek.broker.requests.registry import Handler
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

NOTHING: Any = None


def connection() -> ConnectionInfo:
    return ConnectionInfo(close=lambda: None)


def test_a_connection_is_known_by_its_client_id() -> None:
    clients, one, other = KnownClients(), connection(), connection()
    assert clients.client_id(one) == ""
    clients.note(one, "shop", None)
    clients.note(other, "bank", None)
    assert (clients.client_id(one), clients.client_id(other)) == ("shop", "bank")


def test_a_member_is_connected_while_its_last_connection_is_open() -> None:
    clients, first, second = KnownClients(), connection(), connection()
    beat = HeartbeatRequest(group_id="g", member_id="m")
    assert not clients.is_connected("g", "m")
    clients.note(first, "c", beat)
    clients.note(second, "c", beat)
    first.forget_connection()
    assert clients.is_connected("g", "m")
    assert not clients.is_connected("h", "m")
    second.forget_connection()
    assert not clients.is_connected("g", "m")


def test_those_that_have_gone_are_forgotten_in_time() -> None:
    clients, stays = KnownClients(), connection()
    clients.note(stays, "stays", HeartbeatRequest(group_id="g", member_id="m"))
    for number in range(5000):
        gone = connection()
        beat = HeartbeatRequest(group_id="g", member_id=f"{number}")
        clients.note(gone, "gone", beat)
        gone.forget_connection()
    assert len(clients._client_ids) < 1500
    assert len(clients._members) < 1500
    assert clients.client_id(stays) == "stays"
    assert clients.is_connected("g", "m")


def test_who_asks_a_handler_is_noted() -> None:
    def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=7)

    handler = Handler(HeartbeatRequest, HeartbeatResponse, handle, 0, 4, 0, 4, NO_NEEDS)
    clients, here = KnownClients(), connection()
    handlers = NotingHandlers({12: handler}, clients)
    assert (len(handlers), list(handlers), handlers.get(13)) == (1, [12], None)
    noting = handlers[12]
    assert noting[:2] == handler[:2]
    ctx = RequestContext(NOTHING, here, 12, 4, 1, "shop")
    answer: Any = noting.function(ctx, HeartbeatRequest(group_id="g", member_id="m"))
    assert answer.error_code == 7
    assert clients.client_id(here) == "shop"
    assert clients.is_connected("g", "m")
