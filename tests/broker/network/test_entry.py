"""Layers between connections and the dispatcher."""

from collections.abc import Callable
from typing import Any

from odradek.broker.network.entry import Layers
from odradek.broker.requests.context import ConnectionInfo
from tests.broker.network.test_connection import Client


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
