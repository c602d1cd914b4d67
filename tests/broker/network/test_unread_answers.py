"""Answers that clients do not read, on one connection and on all of them."""

import asyncio

import pytest

from odradek.broker.network import response_queue
from odradek.broker.network.connection import Connection
from tests.fakes.broker import until, word_broker
from tests.fakes.client import Client
from tests.fakes.network import settle

FETCH = "\x00\x01fetch"


async def test_small_answers_are_served_while_a_large_one_is_unread() -> None:
    client = Client(connection_unread_max_bytes=100_000)
    client.transport.client_reads = False
    client.ask("big:50000", "now:2", "park:3", "big:40000")
    assert client.dispatcher.started == ["big:50000", "now:2", "park:3", "big:40000"]
    answers = client.listener.network.answers
    assert answers.used == 50_004 + 4 + len("now:2") + 40_004
    assert client.transport.is_reading_now
    client.ask("big:20000", "now:6")
    assert client.dispatcher.started[4:] == ["big:20000"], "that is as much as may be"
    assert not client.transport.is_reading_now
    client.transport.client_takes()
    client.dispatcher.resolve("park:3")
    await settle()
    client.transport.client_takes()
    await settle()
    client.transport.client_takes()
    await settle()
    expected = ["50000", "now:2", "park:3", "40000", "20000", "now:6"]
    assert client.answers == expected
    assert answers.used == 0
    assert client.transport.is_reading_now


async def test_a_fetch_does_not_start_before_the_answer_in_front_has_left() -> None:
    client = Client()
    client.transport.client_reads = False
    client.ask("big:300000", FETCH, "now:3")
    assert client.dispatcher.started == ["big:300000"]
    client.transport.client_takes(299_000)
    await settle()
    assert client.dispatcher.started == ["big:300000"]
    client.transport.client_takes()
    await settle()
    assert client.answers == ["300000", FETCH, "now:3"]


async def test_all_of_a_large_answer_counts_until_its_last_byte_has_left() -> None:
    client = Client()
    client.transport.client_reads = False
    client.ask("big:300000")
    answers = client.listener.network.answers
    assert answers.used == 300_004
    client.transport.client_takes(200_000)
    client.ask("now:2")
    assert answers.used == 300_004 + 4 + len("now:2")
    client.transport.client_takes()
    await settle()
    assert answers.used == 0


async def test_buffers_that_have_left_are_nobody_s_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response_queue, "_copies", lambda transport: False)
    client, other = Client(), Client()
    answers = client.listener.network.answers
    for one in (client, other):
        one.transport.client_reads = False
        one.ask("big:300000")
    assert len(answers._holders) == 1
    client.transport.client_takes()
    await settle()
    assert not answers._holders
    other.transport.lose()
    assert not other.listener.network.answers._holders


async def test_what_was_unread_of_one_who_is_gone_counts_no_more() -> None:
    client = Client()
    client.transport.client_reads = False
    client.ask("big:300000", "big:300000")
    assert client.listener.network.answers.used == 600_008
    client.transport.lose()
    assert client.listener.network.answers.used == 0


async def test_fetches_wait_while_memory_for_answers_is_full() -> None:
    greedy = Client(queued_max_response_bytes=100_000)
    first, second, gone = (Client(greedy.listener) for _ in range(3))
    greedy.transport.client_reads = False
    greedy.ask("big:100000")
    greedy.clock.advance(1000)
    for client in (first, gone, second):
        client.ask("now:1", FETCH, "now:3")
        assert client.answers == ["now:1"]
        assert not client.transport.is_reading_now
    gone.transport.lose()
    network = greedy.listener.network
    assert network.answers.waiting_count == 2
    assert "gets no records until there is memory" in greedy.log[1]
    assert network.log.hits == {"queued.max.response.bytes": 4}
    greedy.transport.client_takes()
    await settle()
    for client in (first, second):
        assert client.answers == ["now:1", FETCH, "now:3"]
        assert client.transport.is_reading_now
    assert len(gone.answers) == 1


async def test_who_keeps_the_memory_full_serves_itself_no_further() -> None:
    client = Client(queued_max_response_bytes=100_000)
    client.transport.client_reads = False
    client.ask("big:100000")
    client.ask("big:10", "big:10")
    assert client.dispatcher.started == ["big:100000"]
    other = Client(client.listener)
    other.ask("big:10", "now:2")
    assert len(other.answers) == 2, "who reads is answered"
    client.transport.client_takes()
    await settle()
    client.transport.client_takes()
    await settle()
    assert len(client.answers) == 3


async def test_who_fills_the_memory_out_of_the_backlog_is_read_again() -> None:
    client = Client(queued_max_response_bytes=1000)
    client.ask("wait:1", "park:2", "big:2000")
    await settle()
    client.dispatcher.resolve("wait:1")
    await settle()
    assert client.listener.network.answers.is_full
    client.dispatcher.resolve("park:2")
    await settle()
    assert client.answers == ["wait:1", "park:2", "2000"]
    assert client.transport.is_reading_now


async def test_a_reader_that_trickles_is_cut_while_memory_is_short() -> None:
    trickling = Client(queued_max_response_bytes=400_000)
    steady = Client(trickling.listener)
    for client in (trickling, steady):
        client.transport.client_reads = False
        client.ask("big:180000")
    for _ in range(62):
        trickling.transport.client_takes(1)
        steady.transport.client_takes(2000)
        trickling.pass_time(1000)
    assert trickling.transport.is_aborted
    assert not steady.transport.is_aborted


async def test_a_whole_answer_is_held_by_the_transport_and_counted() -> None:
    size = 30_000_000
    async with word_broker() as broker:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", broker.listener.port
        )
        writer.write(b"".join(_frames(f"big:{size}", "now:2")))
        await until(lambda: broker.listener.connections)
        (connection,) = broker.listener.connections
        assert isinstance(connection, Connection)
        await until(lambda: connection._responses.is_held)
        assert broker.listener.network.answers.used >= size
        await reader.readexactly(size + 4 + 4 + len("now:2"))
        await until(lambda: not broker.listener.network.answers.used)
        writer.close()
        await writer.wait_closed()


def _frames(*texts: str) -> list[bytes]:
    return [len(text).to_bytes(4, "big") + text.encode() for text in texts]
