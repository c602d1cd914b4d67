import struct
from collections.abc import Callable

import pytest

from odradek.broker.config.options.listener import HostPort
from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.network.network import Network
from odradek.broker.network.strangers import farewell, recognise
from odradek.broker.requests.context import ConnectionInfo
from odradek.protocol.errors import MalformedRequest
from tests.broker.network.test_listener import connected
from tests.fakes.broker import word_broker
from tests.fakes.client import Client
from tests.fakes.clock import FakeClock
from tests.fakes.network import fake_network, frame, settle

SECOND_MS = 1000
CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)
# The first bytes that curl, ssh, haproxy and redis-cli send.
BEGINNINGS = {
    "TLS": [CLIENT_HELLO, bytes.fromhex("16030302")],
    "HTTP": [
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /topics/orders HTTP/1.1\r\n",
        b"HEAD ",
        b"OPTIONS * HTTP/1.1",
        b"DELETE /x",
        b"CONNECT h:1",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    "SSH": [b"SSH-2.0-OpenSSH_9.2\r\n"],
    "PROXY": [b"PROXY TCP4 192.0.2.1", b"\r\n\r\n\0\r\nQUIT\n"],
    "text": [b"PING\r\n", b"*1\r\n"[:2] + b"00"],
}


@pytest.mark.parametrize(
    ("protocol", "beginning"),
    [(name, each) for name, beginnings in BEGINNINGS.items() for each in beginnings],
)
async def test_a_stranger_is_named_in_the_log_and_hung_up_on(
    protocol: str, beginning: bytes
) -> None:
    client = Client()
    client.transport.feed(beginning)
    client.pass_time(SECOND_MS)
    await settle()
    (line,) = client.log
    assert "from 127.0.0.1:50000 to PLAINTEXT" in line
    assert {"PROXY": "PROXY protocol"}.get(protocol, protocol) in line
    assert client.transport.is_closing()
    assert client.listener.connections == set()
    assert client.listener.network.memory.used == 0


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GE",
        struct.pack(">i", -1),
        struct.pack(">i", (100 << 20) + 1),
        b"\x80\x2e\x01\x03",
        b"\xff\xff\xff\xff",
        frame("now:1")[:4],
    ],
)
def test_whoever_else_is_no_stranger(beginning: bytes) -> None:
    assert recognise(beginning, ConnectionInfo(), None) is None


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
async def test_first_bytes_may_come_one_by_one(size: int) -> None:
    client = Client()
    for position in range(0, len(CLIENT_HELLO), size):
        client.transport.feed(CLIENT_HELLO[position : position + size])
    assert "it speaks TLS" in client.log[0]


async def test_only_the_beginning_of_a_connection_makes_a_stranger() -> None:
    client = Client()
    client.ask("now:1")
    client.transport.feed(CLIENT_HELLO)
    assert client.answers == ["now:1"]
    assert "frame of 369295616 bytes" in client.log[0]


async def test_what_to_set_is_said_of_tls() -> None:
    client = Client()
    client.transport.feed(CLIENT_HELLO)
    assert "security.protocol=PLAINTEXT" in client.log[0]
    assert client.transport.sent == b""


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
async def test_what_to_set_is_what_the_listener_speaks(protocol: str) -> None:
    log: list[str] = []
    network, _ = fake_network(
        FakeClock(),
        log.append,
        listeners=(Address("INSIDE", "127.0.0.1", 1),),
        listener_security_protocol_map=(f"INSIDE:{protocol}",),
    )
    connection = ConnectionInfo(listener_name="INSIDE")
    farewell(network, connection, MalformedRequest("frame"), CLIENT_HELLO)
    assert f"security.protocol={protocol} in the client" in log[0]


async def test_a_scanner_has_one_line_a_minute_and_others_are_not_hidden() -> None:
    first = Client()
    for _ in range(100):
        client = Client(first.listener)
        client.transport.feed(CLIENT_HELLO)
        await settle()
        first.pass_time(1000)
    assert len(first.log) == 2
    Client(first.listener).transport.feed(b"SSH-2.0-x\r\n")
    assert "SSH" in first.log[2]


def http_client(address: HostPort | None) -> tuple[Client, Callable[[], str]]:
    client = Client()
    object.__setattr__(client.listener.network, "http_address", lambda: address)
    return client, lambda: client.transport.sent.decode()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (None, "http.listener=127.0.0.1:9404"),
        (HostPort("127.0.0.1", 9404), "at http://127.0.0.1:9404/metrics, /livez"),
        (HostPort("", 9404), "at http://127.0.0.1:9404/metrics, /livez"),
        (HostPort("::1", 9404), "at http://[::1]:9404/metrics, /livez"),
    ],
)
async def test_a_browser_is_told_where_the_pages_are(
    address: HostPort | None, told: str
) -> None:
    client, answer = http_client(address)
    client.transport.feed(b"GET /metrics?key=secret HTTP/1.1\r\nHost: h\r\n\r\n")
    head, _, body = answer().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert f"Content-Length: {len(body)}\r\n" in head + "\r\n"
    assert "bootstrap.servers=127.0.0.1:9092\n" in body
    assert told in body
    assert told in client.log[0]
    assert "(GET /metrics)" in client.log[0], "the query is nobody's business"


async def test_head_is_answered_without_a_body() -> None:
    client, answer = http_client(None)
    client.transport.feed(b"HEAD / HTTP/1.1\r\n\r\n")
    head, _, body = answer().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert body == ""


async def test_an_answered_client_may_go_on_sending_and_is_heard_by_nobody() -> None:
    client, answer = http_client(None)
    client.transport.feed(b"POST / HTTP/1.1\r\n\r\n")
    before = answer()
    client.transport.feed(b"x" * 100_000 + frame("now:1"))
    assert client.transport.has_ended
    assert answer() == before
    assert client.dispatcher.started == []
    assert not client.transport.is_closing()
    client.pass_time(SECOND_MS)
    assert client.transport.is_aborted


async def test_an_answered_client_is_idle_and_may_be_told_to_finish() -> None:
    client, _ = http_client(None)
    client.transport.feed(b"GET / HTTP/1.1\r\n\r\n")
    client.connection.check_idle(1 << 40)
    client.connection.check_idle(1 << 41)
    await settle()
    client.pass_time(SECOND_MS)
    await settle()
    assert client.listener.connections == set()


async def test_over_a_socket_the_whole_answer_arrives_in_front_of_the_end() -> None:
    async with word_broker() as broker, connected(broker) as client:
        # More than is read in one go: closed at once, it would be a reset.
        client.writer.write(b"POST /x HTTP/1.1\r\n\r\n" + bytes(300_000))
        answer = await client.reader.read()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(b"of their own\n")


def test_without_http_there_is_no_address(network: Network) -> None:
    assert network.http_address() is None


@pytest.fixture
def network() -> Network:
    from tests.fakes.network import fake_network

    return fake_network()[0]
