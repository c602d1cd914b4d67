import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker import handlers
from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.features import SUPPORTED
from odradek.broker.network.admission import Admission
from odradek.broker.network.listener import Listener
from odradek.broker.network.network import Network
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.memory.answer_memory import AnswerMemory
from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from odradek.client.connection import Connection, ConnectionClosed
from odradek.protocol.errors import InvalidRequest, MalformedRequest, UnsupportedVersion
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.fakes.clock import FakeClock
from tests.fakes.no_options import NO_OPTIONS
from tests.fakes.scripted import scripted_cluster
from tests.patience import PATIENCE_S


def real_listener() -> Listener:
    """Our own listener and dispatcher, as far as ApiVersions needs them."""
    handlers.load()
    clock, config = FakeClock(), BrokerConfig()
    services: Any = SimpleNamespace(
        authorizer=None,
        cluster=None,
        bugs=Bugs(),
        config=config,
        live=LiveConfig(config),
        resources=NO_OPTIONS,
        wants_client_metrics=False,
        features=SimpleNamespace(told=(0, (0,) * len(SUPPORTED)), supported=SUPPORTED),
    )
    network = Network(
        options=config,
        dispatcher=Dispatcher(services, registered_handlers()),
        clock=clock,
        memory=RequestMemory(-1),
        answers=AnswerMemory(),
        admission=Admission(config, clock),
        log=LimitedLog(clock),
    )
    return Listener("PLAINTEXT", "127.0.0.1", 0, network)


async def test_it_learns_what_our_broker_can_do() -> None:
    listener = real_listener()
    await listener.start()

    def talk() -> None:
        with Connection("127.0.0.1", listener.port, timeout_s=PATIENCE_S) as connection:
            assert connection.api_versions[18] == (0, 4)
            for version in range(5):
                request = ApiVersionsRequest(
                    client_software_name="a", client_software_version="1"
                )
                answer = connection.request(request, ApiVersionsResponse, version)
                assert answer.error_code == 0

    try:
        await asyncio.to_thread(talk)
    finally:  # or a loop of uvloop never closes
        await listener.stop(1000)


Script = Callable[[int, int], bytes]  # (version, correlation id) -> body


@contextlib.contextmanager
def scripted_broker(script: Script) -> Iterator[int]:
    """A broker that answers every request with what ``script`` makes of its header."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(PATIENCE_S)

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.settimeout(PATIENCE_S)
            with contextlib.suppress(ConnectionError):
                while prefix := connection.recv(4, socket.MSG_WAITALL):
                    (size,) = struct.unpack(">i", prefix)
                    frame = connection.recv(size, socket.MSG_WAITALL)
                    _, version, correlation_id = struct.unpack_from(">hhi", frame)
                    body = script(version, correlation_id)
                    if not body:
                        return
                    connection.sendall(struct.pack(">i", len(body)) + body)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        thread.join(PATIENCE_S)
        server.close()


def api_versions(
    version: int,
    correlation_id: int,
    ranges: list[tuple[int, int, int]],
    error: int = 0,
) -> bytes:
    keys = [ApiVersion(api_key=k, min_version=a, max_version=b) for k, a, b in ranges]
    response = ApiVersionsResponse(error_code=error, api_keys=keys)
    return struct.pack(">i", correlation_id) + response.encode(version)


def test_an_older_broker_is_asked_again_in_its_version() -> None:
    asked = []

    def script(version: int, correlation_id: int) -> bytes:
        asked.append(version)
        if version > 2:
            return api_versions(0, correlation_id, [(18, 0, 2)], error=35)
        return api_versions(version, correlation_id, [(18, 0, 2), (3, 0, 1)])

    with scripted_broker(script) as port, Connection("127.0.0.1", port) as connection:
        assert connection.api_versions == {18: (0, 2), 3: (0, 1)}
        assert connection.version_of(MetadataRequest()) == 1
    assert asked == [4, 2]


def test_a_broker_that_lists_nothing_with_its_error_is_asked_in_version_0() -> None:
    asked = []

    def script(version: int, correlation_id: int) -> bytes:
        asked.append(version)
        error = 35 if version else 0
        return api_versions(0, correlation_id, [], error=error)

    with scripted_broker(script) as port, Connection("127.0.0.1", port) as connection:
        assert connection.api_versions == {}
        with pytest.raises(UnsupportedVersion, match="MetadataRequest"):
            connection.version_of(MetadataRequest())
    assert asked == [4, 0]


def test_versions_that_do_not_overlap_are_refused() -> None:
    def script(version: int, correlation_id: int) -> bytes:
        return api_versions(version, correlation_id, [(3, 90, 99)])

    with (
        scripted_broker(script) as port,
        Connection("127.0.0.1", port) as connection,
        pytest.raises(UnsupportedVersion, match="90-99"),
    ):
        connection.version_of(MetadataRequest())


def test_another_error_is_raised() -> None:
    def script(version: int, correlation_id: int) -> bytes:
        return api_versions(version, correlation_id, [], error=42)

    with scripted_broker(script) as port, pytest.raises(InvalidRequest):
        Connection("127.0.0.1", port)


def test_a_broker_that_closes_is_noticed() -> None:
    with (
        scripted_broker(lambda *_: b"") as port,
        pytest.raises(ConnectionClosed, match="closed"),
    ):
        Connection("127.0.0.1", port)


def test_an_answer_to_something_else_is_noticed() -> None:
    def script(version: int, correlation_id: int) -> bytes:
        return api_versions(version, correlation_id + 1, [])

    with (
        scripted_broker(script) as port,
        pytest.raises(ConnectionError, match="answer 1, asked 0"),
    ):
        Connection("127.0.0.1", port)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"HTTP/1.1 400 Bad Request", "a web server answers"),
        (b"\xff" * 4, "an answer of"),
        (bytes(4), "an answer of"),
    ],
)
def test_what_is_no_answer_is_noticed(answer: bytes, complaint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(MalformedRequest, match=complaint):
            Connection("127.0.0.1", server.getsockname()[1], timeout_s=PATIENCE_S)
        thread.join(PATIENCE_S)


def test_nobody_there_is_an_os_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        Connection("127.0.0.1", port)


def in_turns(connection: Connection, late: int, now_s: Iterator[float]) -> list[int]:
    """How many bytes came, after so many turns in which none did."""
    calls = [TimeoutError] * late

    def receive(view: memoryview) -> int:
        if calls:
            raise calls.pop()
        return len(view)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("odradek.client.connection.time.monotonic", lambda: next(now_s))
        return [connection._in_turns(receive, memoryview(bytes(3)))]


def test_a_long_wait_is_made_of_short_ones() -> None:
    """A signal that comes just before a wait would else be noticed behind it."""
    with scripted_cluster() as cluster:
        address = cluster.brokers[1].address
        with Connection(*address, timeout_s=300) as connection:
            assert connection._socket.gettimeout() == 1
            assert in_turns(connection, 0, iter(())) == [3]
            assert in_turns(connection, 3, iter([1.0, 2.0, 3.0, 4.0])) == [3]
            with pytest.raises(TimeoutError):
                in_turns(connection, 3, iter([1.0, 299.9, 300.0]))
            connection.wait_for(0.5)
            assert connection._socket.gettimeout() == 0.5
            with pytest.raises(TimeoutError):
                in_turns(connection, 1, iter([1.0, 1.0]))


def test_who_waits_can_be_told_to_wait_no_longer() -> None:
    hangs = threading.Event()

    def script(version: int, correlation_id: int) -> bytes:
        if correlation_id:
            hangs.wait(PATIENCE_S)  # until we have hung up
            return b""
        return api_versions(version, correlation_id, [(3, 0, 12), (18, 0, 4)])

    with scripted_broker(script) as port:
        connection = Connection("127.0.0.1", port, timeout_s=PATIENCE_S)
        heard: list[BaseException] = []

        def ask() -> None:
            try:
                connection.request(MetadataRequest(), MetadataResponse)
            except ConnectionError as error:
                heard.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        connection.hang_up()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        assert len(heard) == 1
        hangs.set()
        connection.close()
        connection.hang_up()  # once more hurts nobody
