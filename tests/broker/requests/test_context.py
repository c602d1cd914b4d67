from typing import Any, cast

from odradek.broker.requests.context import ConnectionInfo, RequestContext


def test_a_request_knows_its_connection() -> None:
    closed: list[bool] = []
    connection = ConnectionInfo(
        listener_name="INTERNAL",
        local_host="10.0.0.1",
        local_port=9093,
        peer_host="10.0.0.9",
        close=lambda: closed.append(True),
    )
    services: Any = object()
    ctx = RequestContext(services, connection, 18, 3, 7, "me")
    assert ctx.services is services
    header = (ctx.api_key, ctx.api_version, ctx.correlation_id, ctx.client_id)
    assert header == (18, 3, 7, "me")
    assert (ctx.listener_name, ctx.local_host, ctx.local_port) == (
        "INTERNAL",
        "10.0.0.1",
        9093,
    )
    assert ctx.peer_host == "10.0.0.9"
    ctx.close_connection()
    assert closed == [True]


def test_a_context_without_a_connection_closes_nothing() -> None:
    RequestContext(cast(Any, None), ConnectionInfo(), 0, 0).close_connection()


def test_a_client_is_named_by_all_that_is_known_of_it() -> None:
    connection = ConnectionInfo(peer_host="h", peer_port=5)
    nothing = cast(Any, None)
    assert RequestContext(nothing, connection, 18, 3).client == "a client at h:5"
    connection.client_software_name = "librdkafka"
    connection.client_software_version = "2.16.0"
    named = RequestContext(nothing, connection, 18, 3, 1, "me")
    assert named.client == "me (librdkafka 2.16.0) at h:5"


def test_a_connection_is_open_until_it_is_forgotten() -> None:
    connection = ConnectionInfo(close=lambda: None)
    assert connection.is_open
    connection.forget_connection()
    assert not connection.is_open


def test_who_wants_to_is_told_when_a_connection_is_lost() -> None:
    connection, told = ConnectionInfo(), list[ConnectionInfo]()

    def note(lost: ConnectionInfo) -> None:
        told.append(lost)

    for _ in range(3):
        connection.when_lost(note)
    connection.forget_connection()
    connection.forget_connection()
    assert len(told) == 1
    assert told[0] is connection
