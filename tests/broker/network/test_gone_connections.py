"""What a connection held is freed with it, without the garbage collector."""

import struct

import pytest

from odradek.broker.network.connection import Connection
from tests.fakes.client import Client
from tests.fakes.network import frame, settle
from tests.garbage import LARGE, garbage, large_buffers


async def test_who_is_gone_leaves_nothing_large_behind() -> None:
    big = "now:" + "x" * (2 * LARGE)
    with garbage() as found:
        for rest in (
            frame(big)[:-1],  # half a request
            frame("wait:1") + frame(big),  # one that has to wait
            frame("park:1") + frame(f"big:{2 * LARGE}"),  # an answer that has to
            frame(big) + frame("bad"),
            struct.pack(">i", -1),
        ):
            client = Client()
            client.transport.feed(rest)
            client.transport.lose()
            await settle()
            for text in list(client.dispatcher.parked):
                client.dispatcher.resolve(text)
            await settle()
        del client, rest
    assert not large_buffers(found)
    assert not [each for each in found if isinstance(each, Connection)]


@pytest.mark.parametrize("text", ["park:unanswerable", "wait:1"])
async def test_an_answer_that_cannot_be_given_leaves_nothing_behind(text: str) -> None:
    with garbage() as found:
        client = Client()
        client.ask(text + "x" * (2 * LARGE))
        await settle()
        (future,) = client.dispatcher.parked.values()
        future.set_exception(RuntimeError("unanswerable"))
        client.dispatcher.parked.clear()
        client.dispatcher.failures.clear()
        client.dispatcher.started.clear()
        await settle()
        client.dispatcher.failures.clear()
        assert client.transport.is_closing()
        del client, future
        await settle()
    assert not large_buffers(found)


async def test_what_still_runs_for_one_who_is_gone_disturbs_nobody() -> None:
    client = Client()
    client.ask("wait:1", "now:2")
    await settle()
    connection = client.connection
    client.transport.lose()
    connection.info.close()
    connection.info.mute(10)
    connection.finish()
    client.dispatcher.resolve("wait:1")
    await settle()
    assert client.dispatcher.started == ["wait:1"]
    assert client.answers == []
