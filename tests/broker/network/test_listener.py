import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

import pytest

from odradek.broker.network.connection import Connection
from odradek.broker.network.listener import Listener, ListenerError
from tests.fakes.broker import WordBroker, until, word_broker
from tests.fakes.network import frame
from tests.patience import PATIENCE_S


class Client:
    """A stream to the broker, answers read one by one."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *texts: str) -> None:
        self.writer.write(b"".join(map(frame, texts)))

    async def answer(self) -> str:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return (await self.reader.readexactly(size)).decode()

    async def answers(self, count: int) -> list[str]:
        return [await self.answer() for _ in range(count)]

    async def is_closed(self) -> bool:
        try:
            return await asyncio.wait_for(self.reader.read(1), PATIENCE_S) == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


@contextlib.asynccontextmanager
async def connected(broker: WordBroker) -> AsyncIterator[Client]:
    client = Client(*await asyncio.open_connection("127.0.0.1", broker.listener.port))
    try:
        yield client
    finally:
        await client.close()


async def test_a_thousand_pipelined_requests_are_answered_in_order() -> None:
    async with word_broker() as broker, connected(broker) as client:
        texts = [f"now:{number}" for number in range(1000)]
        client.send(*texts)
        assert await client.answers(1000) == texts


async def test_requests_split_at_every_byte_are_answered() -> None:
    async with word_broker() as broker, connected(broker) as client:
        data = frame("now:1") + frame("now:22") + frame("park:3") + frame("now:4")
        for position in range(len(data)):
            client.writer.write(data[position : position + 1])
            await client.writer.drain()
            await asyncio.sleep(0)
        await until(lambda: "park:3" in broker.dispatcher.parked)
        broker.dispatcher.resolve("park:3")
        assert await client.answers(4) == ["now:1", "now:22", "park:3", "now:4"]


async def test_parked_and_blocking_answers_keep_their_order() -> None:
    async with word_broker() as broker, connected(broker) as client:
        client.send("park:1", "wait:2", "now:3", "park:4", "now:5")
        await until(lambda: "wait:2" in broker.dispatcher.parked)
        broker.dispatcher.resolve("wait:2")
        await until(lambda: "park:4" in broker.dispatcher.parked)
        broker.dispatcher.resolve("park:4")
        broker.dispatcher.resolve("park:1")
        expected = ["park:1", "wait:2", "now:3", "park:4", "now:5"]
        assert await client.answers(5) == expected


async def test_megabytes_arrive_and_leave_whole() -> None:
    async with word_broker() as broker, connected(broker) as client:
        big = "now:" + "x" * (5 << 20)
        client.send(big, "now:2", big)
        assert await client.answers(3) == [big, "now:2", big]


async def test_a_malformed_request_closes_one_connection_alone() -> None:
    async with (
        word_broker() as broker,
        connected(broker) as good,
        connected(broker) as bad,
    ):
        good.send("now:1")
        bad.send("now:1", "bad")
        assert await bad.answer() == "now:1"
        assert await bad.is_closed()
        assert await good.answer() == "now:1"
        good.send("now:2")
        assert await good.answer() == "now:2"
        assert len(broker.log) == 1


@pytest.mark.parametrize("size", [0, -1, (1 << 16) + 1, 1 << 30])
async def test_an_impossible_size_closes(size: int) -> None:
    async with (
        word_broker(socket_request_max_bytes=1 << 16) as broker,
        connected(broker) as client,
    ):
        client.writer.write(struct.pack(">i", size))
        assert await client.is_closed()


async def test_half_a_frame_is_cut_off_at_its_deadline() -> None:
    async with word_broker() as broker, connected(broker) as client:
        client.writer.write(frame("now:1")[:6])
        (connection,) = await _connections(broker, 1)
        await until(lambda: connection._reader.pending)
        for _ in range(32):
            broker.clock.advance(1000)
            broker.listener.sweep()
        assert await client.is_closed()
        assert not broker.dispatcher.started
        hits = broker.listener.network.log.hits
        assert hits == {"request.arrival.timeout.ms": 1}
        assert "took too long" in broker.log[0]


async def test_a_reader_that_stalls_stops_being_served_and_is_cut_off() -> None:
    options = {"connection_unread_max_bytes": 1 << 20}
    async with word_broker(**options) as broker, connected(broker) as client:
        client.send("big:30000000", "now:2")
        await until(lambda: broker.dispatcher.started)
        (connection,) = await _connections(broker, 1)
        await until(lambda: connection._responses.is_held)
        assert broker.dispatcher.started == ["big:30000000"]
        for _ in range(62):
            broker.clock.advance(1000)
            broker.listener.sweep()
        await until(lambda: not broker.listener.connections)
        hits = broker.listener.network.log.hits
        assert hits == {"connection.unread.timeout.ms": 1}
        assert "are not read" in broker.log[0]
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.answer()


async def test_a_slow_reader_gets_everything_in_the_end() -> None:
    options = {"connection_unread_max_bytes": 1 << 20}
    async with word_broker(**options) as broker, connected(broker) as client:
        client.send("big:30000000", "now:2")
        (connection,) = await _connections(broker, 1)
        await until(lambda: connection._responses.is_held)
        assert len(await client.answer()) == 30_000_000
        assert await client.answer() == "now:2"
        assert not connection._responses.is_held


async def test_a_client_that_leaves_is_forgotten() -> None:
    async with word_broker() as broker:
        async with connected(broker) as client:
            client.send("wait:1", "now:2")
            await until(lambda: "wait:1" in broker.dispatcher.parked)
            # While its requests wait the socket is not read: only a reset shows.
            sock = client.writer.get_extra_info("socket")
            sock.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        broker.dispatcher.resolve("wait:1")
        await until(lambda: not broker.listener.connections)
        assert broker.listener.network.memory.used == 0


async def test_stop_answers_what_was_asked() -> None:
    async with word_broker() as broker, connected(broker) as client:
        client.send("park:1", "wait:2", "now:3")
        await until(lambda: "wait:2" in broker.dispatcher.parked)
        stopping = asyncio.ensure_future(broker.listener.stop(3000))
        await asyncio.sleep(0)
        broker.dispatcher.resolve("park:1")
        broker.dispatcher.resolve("wait:2")
        assert await client.answers(2) == ["park:1", "wait:2"]
        assert await client.is_closed()
        await stopping
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", broker.listener.port)


async def test_stop_cuts_off_what_is_not_answered_in_time() -> None:
    async with word_broker() as broker, connected(broker) as client:
        client.send("park:1", "wait:2")
        await until(lambda: "wait:2" in broker.dispatcher.parked)
        stopping = asyncio.ensure_future(broker.listener.stop(3000))
        await broker.clock.tick(2999)
        assert not stopping.done()
        await broker.clock.tick(1)
        await stopping
        assert await client.is_closed()
    assert broker.dispatcher.parked["wait:2"].cancelled()


async def test_buffers_of_sockets_are_set_when_somebody_asks_for_it() -> None:
    sizes = {
        "socket_send_buffer_bytes": 50_000,
        "socket_receive_buffer_bytes": 60_000,
        "explicit": frozenset(
            {"socket.send.buffer.bytes", "socket.receive.buffer.bytes"}
        ),
    }
    async with word_broker(**sizes) as broker, connected(broker):
        (connection,) = await _connections(broker, 1)
        accepted = connection._transport.get_extra_info("socket")
        # Linux doubles what it is given, for its own bookkeeping.
        sent = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        received = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    assert sent in (50_000, 100_000)
    assert received in (60_000, 120_000)


async def test_too_many_connections_are_refused() -> None:
    async with (
        word_broker(max_connections=1) as broker,
        connected(broker) as first,
    ):
        await _connections(broker, 1)
        async with connected(broker) as second:
            assert await second.is_closed()
        first.send("now:1")
        assert await first.answer() == "now:1"


async def test_an_address_in_use_is_said_in_one_line() -> None:
    async with word_broker() as broker:
        other = Listener(
            "PLAINTEXT", "127.0.0.1", broker.listener.port, broker.listener.network
        )
        with pytest.raises(ListenerError, match=r"127.0.0.1:\d+.*in use"):
            await other.start()


async def test_an_address_of_another_machine_is_said_in_one_line() -> None:
    broker = WordBroker()
    other = Listener("PLAINTEXT", "192.0.2.1", 0, broker.listener.network)
    with pytest.raises(ListenerError, match=r"192.0.2.1:0: "):
        await other.start()


async def test_a_frozen_listener_answers_when_it_thaws() -> None:
    async with word_broker() as broker, connected(broker) as before:
        before.send("now:1", "park:2")
        assert await before.answer() == "now:1"
        await until(lambda: "park:2" in broker.dispatcher.parked)
        broker.listener.freeze()
        before.send("park:3")
        async with connected(broker) as late:
            late.send("park:4")
            await until(lambda: len(broker.listener.connections) == 2)
            for _ in range(20):
                await asyncio.sleep(0)
            assert list(broker.dispatcher.parked) == ["park:2"]
            broker.listener.thaw()
            await until(lambda: len(broker.dispatcher.parked) == 3)
            for text in list(broker.dispatcher.parked):
                broker.dispatcher.resolve(text)
            assert await before.answers(2) == ["park:2", "park:3"]
            assert await late.answer() == "park:4"


async def _connections(broker: WordBroker, count: int) -> list[Connection]:
    await until(lambda: len(broker.listener.connections) == count)
    return list(broker.listener.connections)


async def test_watchers_are_told_of_clients_that_are_gone() -> None:
    async with word_broker() as broker:
        ports: list[tuple[int, int]] = []
        listener = broker.listener
        listener.watchers.append(
            lambda info: ports.append((info.peer_port, len(listener.connections)))
        )
        async with connected(broker) as client:
            client.send("now:a")
            await client.answer()
            (connection,) = listener.connections
            port = connection.info.peer_port
            assert ports == []
        await until(lambda: ports)
        assert ports == [(port, 0)]
