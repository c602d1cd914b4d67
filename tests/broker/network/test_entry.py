"""Layers between connections and the dispatcher."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.network.connection import Connection
from odradek.broker.network.entry import Layers
from odradek.broker.requests.context import ConnectionInfo
from tests.broker.network.test_connection import Client
from tests.fakes.login import login_broker
from tests.fakes.network import FakeTransport, frame


def noting(name: str, seen: list[str]) -> Callable[..., Any]:
    def layer(inner: Any, connection: ConnectionInfo, frame: memoryview) -> Any:
        seen.append(f"{name} {bytes(frame).decode()}")
        return inner(connection, frame)

    return layer


async def test_the_last_layer_is_asked_first_and_each_can_go() -> None:
    client, seen = Client(), list[str]()
    dispatcher: Any = client.dispatcher
    dispatcher.layers = []
    layers = Layers(dispatcher, [client.listener])
    one, two = noting("one", seen), noting("two", seen)
    layers.put(one)
    layers.put(two)
    client.ask("now:1")
    layers.take_away(one)
    client.ask("now:2")
    layers.take_away(two)
    client.ask("now:3")
    assert seen == ["two now:1", "one now:1", "two now:2"]
    assert client.answers == ["now:1", "now:2", "now:3"]
    assert dispatcher.entry == dispatcher.dispatch


async def test_without_layers_connections_call_the_dispatcher_itself() -> None:
    client = Client()
    dispatcher: Any = client.dispatcher
    dispatcher.layers = []
    (connection,) = client.listener.connections
    assert connection._dispatch == dispatcher.dispatch
    layers = Layers(dispatcher, [client.listener])
    layer = noting("one", [])
    layers.put(layer)
    assert connection._dispatch == dispatcher.entry
    layers.take_away(layer)
    assert connection._dispatch == dispatcher.dispatch


async def test_a_layer_that_comes_while_a_client_is_let_in_sees_it_too() -> None:
    """The loop makes a connection, and says in a later turn that it is there."""
    client, seen = Client(), list[str]()
    dispatcher: Any = client.dispatcher
    dispatcher.layers = []
    layers = Layers(dispatcher, [client.listener])
    early, late = Connection(client.listener), FakeTransport()
    layer = noting("one", seen)
    layers.put(layer)
    late.connect(early)
    late.feed(frame("now:1"))
    layers.take_away(layer)
    late.feed(frame("now:2"))
    layers.put(noting("two", seen))
    late.feed(frame("now:3"))
    assert seen == ["one now:1", "two now:3"]
    assert late.frames() == ["now:1", "now:2", "now:3"]


async def test_a_layer_that_goes_meanwhile_is_asked_no_more() -> None:
    client, seen = Client(), list[str]()
    dispatcher: Any = client.dispatcher
    dispatcher.layers = []
    layers = Layers(dispatcher, [client.listener])
    layer = noting("one", seen)
    layers.put(layer)
    early, late = Connection(client.listener), FakeTransport()
    layers.take_away(layer)
    late.connect(early)
    late.feed(frame("now:1"))
    assert seen == []
    assert early._dispatch == dispatcher.dispatch


async def test_a_client_that_has_to_log_in_is_seen_by_it_too(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        early = broker.listener.make_connection()()
        layers = Layers(broker.dispatcher, [broker.listener])
        layers.put(noting("one", []))
        FakeTransport().connect(early)
        assert early._entry == broker.dispatcher.entry  # type: ignore[attr-defined]


async def test_the_request_log_is_in_front_of_all_layers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client()
    dispatcher: Any = client.dispatcher
    dispatcher.layers = []
    with caplog.at_level(logging.DEBUG, logger="odradek.requests"):
        logged = Client(client.listener).connection._dispatch
    Layers(dispatcher, [client.listener]).put(noting("one", []))
    (connection,) = client.listener.connections - {client.connection}
    assert connection._dispatch == logged
