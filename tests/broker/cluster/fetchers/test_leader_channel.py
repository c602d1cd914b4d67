"""What a follower asks its leader, over a real socket."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.cluster.fetchers.leader_channel import LeaderChannel
from odradek.client.address import Address
from odradek.client.connection import Connection, ConnectionClosed
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.brokers import EnvelopeRequest, EnvelopeResponse
from tests.client.test_connection import api_versions
from tests.patience import PATIENCE_S

ENVELOPE = EnvelopeRequest.api_key
SMALL, LARGE = 10, 200_000


class Leader:
    """Answers with as many bytes as it is told; ``pause`` is in the middle of one."""

    def __init__(self) -> None:
        self.sizes: list[int | None] = []  # None: it closes
        self.begun, self.pause = threading.Event(), threading.Event()
        self.pause.set()
        self.opened_count = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(PATIENCE_S)
        self.address = Address(*self._server.getsockname()[:2])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.pause.set()
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._server.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self.opened_count += 1
                with connection, contextlib.suppress(ConnectionError):
                    connection.settimeout(PATIENCE_S)
                    self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        while prefix := connection.recv(4, socket.MSG_WAITALL):
            (size,) = struct.unpack(">i", prefix)
            frame = connection.recv(size, socket.MSG_WAITALL)
            key, version, number = struct.unpack_from(">hhi", frame)
            if key != ENVELOPE:
                offered = [(ENVELOPE, 0, 0), (18, 0, 4)]
                body = api_versions(version, number, offered)
            else:
                wanted = self.sizes.pop(0)
                if wanted is None:
                    return
                answer = EnvelopeResponse(response_data=bytes(wanted), error_code=0)
                body = struct.pack(">i", number) + b"\0" + answer.encode(0)
            data = struct.pack(">i", len(body)) + body
            connection.sendall(data[:6])
            self.begun.set()
            self.pause.wait(PATIENCE_S)
            connection.sendall(data[6:])


class Channel(LeaderChannel):
    """Counts what its thread does."""

    def __init__(self, leader: Leader) -> None:
        def connect(address: Address) -> Connection:
            return Connection(address.host, address.port, timeout_s=PATIENCE_S)

        super().__init__("test", lambda: leader.address, connect)
        self.job_count = 0
        run = self._threads.run

        async def counted(*args: Any) -> Any:
            self.job_count += 1
            return await run(*args)

        self._threads.run = counted  # type: ignore[method-assign]

    async def sizes(self, timeout_s: float = PATIENCE_S) -> int:
        answer = await self.ask_briefly(EnvelopeRequest(), EnvelopeResponse, timeout_s)
        assert answer.response_data is not None
        return len(answer.response_data)


@pytest.fixture
def leader() -> Iterator[Leader]:
    made = Leader()
    yield made
    made.close()


async def test_the_thread_has_what_is_large_and_what_comes_first(
    leader: Leader,
) -> None:
    leader.sizes = [SMALL, SMALL, SMALL, LARGE, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    assert channel.job_count == 1  # it connects
    found = [await channel.sizes() for _ in range(4)]
    assert found == [SMALL, SMALL, LARGE, SMALL]
    assert leader.opened_count == 1
    # The large one; of another the end may have come late.
    assert channel.job_count >= 2
    channel.close()


async def test_an_answer_that_has_begun_is_left_to_the_thread(leader: Leader) -> None:
    leader.sizes = [SMALL, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    leader.pause.clear()
    leader.begun.clear()
    asked = asyncio.get_running_loop().create_task(channel.sizes())
    while channel.job_count < 2:  # noqa: ASYNC110 - what came is six bytes
        await asyncio.sleep(0)
    leader.pause.set()
    assert await asked == SMALL
    channel.close()


async def test_who_closes_is_connected_to_anew(leader: Leader) -> None:
    leader.sizes = [SMALL, None, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    with pytest.raises(ConnectionClosed):
        await channel.sizes()
    assert await channel.sizes() == SMALL
    assert leader.opened_count == 2
    channel.close()


async def test_who_does_not_answer_in_time_is_left(leader: Leader) -> None:
    leader.sizes = [SMALL, SMALL, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    leader.pause.clear()
    known = channel._known
    assert known is not None
    with pytest.raises(OSError):  # noqa: PT011 - a timeout, of the loop or the thread
        await channel.sizes(0.01)
    assert known[1].fileno() == -1
    leader.pause.set()
    assert await channel.sizes() == SMALL
    channel.close()


async def test_nobody_waits_for_a_leader_that_is_gone(leader: Leader) -> None:
    leader.sizes = [SMALL, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    leader.pause.clear()
    asked = asyncio.get_running_loop().create_task(channel.sizes())
    await asyncio.sleep(0)
    leader_was, leader.address = leader.address, Address("127.0.0.1", 1)
    channel.drop_former_leader()
    with pytest.raises(ConnectionError):
        await asked
    leader.address = leader_was
    channel.close()


async def test_who_is_cancelled_listens_no_more(leader: Leader) -> None:
    leader.sizes = [SMALL, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    known = channel._known
    assert known is not None
    descriptor = known[1].fileno()
    leader.pause.clear()
    asked = asyncio.get_running_loop().create_task(channel.sizes())
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not asyncio.get_running_loop().remove_reader(descriptor)
    channel.close()


class Talk:
    """What is said on a channel: so many questions, each by its number."""

    def __init__(self, channel: Channel, count: int) -> None:
        self._channel, self._count = channel, count
        self.answered: list[int] = []

    def question(self) -> bytes:
        number = len(self.answered) + 100
        return encode_request(EnvelopeRequest(), 0, number, "odradek")

    def go_on(self, frame: memoryview) -> bytes | None:
        (number,) = struct.unpack_from(">i", frame)
        self.answered.append(number)
        return self.question() if len(self.answered) < self._count else None

    async def run(self, timeout_s: float = PATIENCE_S) -> int | None:
        """The size of an answer that was too large, if there was one."""
        connection = self._channel.prompt()
        assert connection is not None
        found = await self._channel.converse(
            connection, self.question(), self.go_on, timeout_s
        )
        return None if found is None else len(found)


async def test_one_question_follows_from_the_answer_to_the_other(
    leader: Leader,
) -> None:
    leader.sizes = [SMALL] * 7
    channel = Channel(leader)
    assert channel.prompt() is None  # it is not connected
    assert await channel.sizes() == SMALL
    talk = Talk(channel, 5)
    jobs = channel.job_count
    while len(talk.answered) < 5:  # one that comes in two pieces is the thread's
        if await talk.run() is not None:
            talk.answered.append(0)
            channel.job_count = jobs
    assert [each or 100 + number for number, each in enumerate(talk.answered)] == [
        100,
        101,
        102,
        103,
        104,
    ]
    assert await channel.sizes() == SMALL
    assert leader.opened_count == 1
    channel.close()


async def test_a_large_answer_in_between_is_returned(leader: Leader) -> None:
    leader.sizes = [SMALL, LARGE, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    talk = Talk(channel, 5)
    found = await talk.run()
    assert found is not None
    assert found > LARGE
    assert not talk.answered
    assert await channel.sizes() == SMALL
    assert leader.opened_count == 1
    channel.close()


async def test_who_cannot_go_on_hangs_up(leader: Leader) -> None:
    leader.sizes = [SMALL, SMALL, SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    talk = Talk(channel, 5)

    def fail(frame: memoryview) -> bytes | None:
        raise IndexError("a bug")

    talk.go_on = fail  # type: ignore[method-assign]
    with contextlib.suppress(IndexError):  # or the thread has it, which asks nobody
        await talk.run()
        channel._close()
    assert channel.prompt() is None
    assert await channel.sizes() == SMALL
    channel.close()


async def test_patience_is_for_each_answer(leader: Leader) -> None:
    leader.sizes = [SMALL]
    channel = Channel(leader)
    assert await channel.sizes() == SMALL
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[memoryview | None] = loop.create_future()
    channel._sent_s = loop.time() + PATIENCE_S  # behind the one of the first
    channel._be_late(answered, PATIENCE_S)
    assert not answered.done()
    assert channel._late is not None
    channel._late.cancel()
    channel._sent_s = loop.time() - PATIENCE_S
    channel._be_late(answered, 0)
    with pytest.raises(TimeoutError):
        await answered
    channel.close()
