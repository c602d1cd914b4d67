"""What strangers do to a listener with TLS, and what it costs."""

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess

import pytest

from tests.broker.network.tls.words import (
    TlsBroker,
    client_context,
    connected,
    tls_broker,
)
from tests.certificates import alice, authority
from tests.fakes.broker import until
from tests.patience import PATIENCE_S

UNFINISHED_HELLOS = [bytes.fromhex(each) for each in ("16", "16030100c8010000c40303")]
CROWD = 5000 if os.environ.get("ODRADEK_LONG") == "1" else 200


@pytest.mark.parametrize("beginning", UNFINISHED_HELLOS)
async def test_half_a_hello_costs_a_socket_until_it_is_cut(beginning: bytes) -> None:
    async with tls_broker() as broker, contextlib.AsyncExitStack() as stack:
        broker.tls.pre_auth._count_max = CROWD + 1
        readers = []
        for _ in range(CROWD):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", broker.listener.port
            )
            stack.callback(writer.close)
            writer.write(beginning)
            readers.append(reader)
        async with connected(broker) as client:  # others are served meanwhile
            client.send("now:1")
            assert await client.answer() == "now:1"
            waiting = list(broker.tls.pre_auth._since_ms)
            assert len(waiting) == CROWD
            assert all(each._tls is None for each in waiting), "OpenSSL has been asked"
        broker.clock.advance(10_000)
        broker.listener.sweep()
        for reader in readers:
            with contextlib.suppress(ConnectionError):  # nobody has read what it sent
                assert await reader.read() == b""
        assert broker.tls.pre_auth.count == 0


async def test_a_hello_that_comes_byte_by_byte_is_one() -> None:
    async with tls_broker() as broker:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", broker.listener.port
        )
        out, into = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=str(authority().certificate))
        client = context.wrap_bio(into, out, server_hostname="localhost")
        is_made = False
        while not is_made:
            try:
                client.do_handshake()
                is_made = True
            except ssl.SSLWantReadError:
                pass
            for byte in out.read():
                writer.write(bytes((byte,)))
                await writer.drain()
                await asyncio.sleep(0)
            if not is_made:
                into.write(await reader.read(1 << 16))
        await until(lambda: broker.listener.connections)
        writer.close()


async def test_who_hangs_up_in_the_middle_of_a_hello_is_forgotten() -> None:
    async with tls_broker() as broker:
        for beginning in UNFINISHED_HELLOS:
            _, writer = await asyncio.open_connection("127.0.0.1", broker.listener.port)
            writer.write(beginning)
            writer.close()
            await until(lambda: not broker.tls.pre_auth.count and broker.log)
        assert not broker.listener.network.admission.count


def scanned(broker: TlsBroker, *words: str) -> bool:
    """Whether openssl s_client makes a handshake so."""
    said = asked(broker, *words)
    return "Cipher is (NONE)" not in said and "Cipher is" in said


def asked(broker: TlsBroker, *words: str, typed: bytes = b"") -> str:
    """What openssl s_client says of a listener."""
    address = f"127.0.0.1:{broker.listener.port}"
    done = subprocess.run(
        ["openssl", "s_client", "-connect", address, *words],
        input=typed,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return (done.stdout + done.stderr).decode(errors="replace")


def suites_of_1_2() -> list[str]:
    """All that openssl itself can speak, the weakest too."""
    wanted = "ALL:COMPLEMENTOFALL:@SECLEVEL=0"
    done = subprocess.run(
        ["openssl", "ciphers", "-s", "-tls1_2", wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    return [each for each in done.stdout.strip().split(":") if each[:4] != "TLS_"]


async def test_of_all_suites_those_are_spoken_that_are_safe() -> None:
    """A05: forward secrecy, and encryption that authenticates."""
    async with tls_broker() as broker:
        spoken = set()
        for suite in suites_of_1_2():
            words = ("-tls1_2", "-cipher", f"{suite}:@SECLEVEL=0")
            if await asyncio.to_thread(scanned, broker, *words):
                spoken.add(suite)
        assert spoken == {
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
        }


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
async def test_nothing_is_negotiated_that_helps_an_attacker(version: str) -> None:
    """A05: what else a scanner looks for."""
    async with tls_broker() as broker:
        said = await asyncio.to_thread(asked, broker, version)
        assert "Compression: NONE" in said
        assert "Secure Renegotiation IS NOT supported" not in said or "1_3" in version
        assert "No ALPN negotiated" in said
        assert "session ticket" not in said
        # R has s_client ask for another handshake on the same connection.
        said = await asyncio.to_thread(asked, broker, version, typed=b"R\n")
        assert "RENEGOTIATING" in said or version == "-tls1_3"
        assert "no renegotiation" in said or version == "-tls1_3"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_session_ends_with_its_connection(version: ssl.TLSVersion) -> None:
    """A05: who comes again shows a certificate again, and nothing is kept of it."""
    async with tls_broker(ssl_client_auth="required") as broker:
        context = client_context(alice())
        context.maximum_version = version
        session = None
        for how in ("told", "told", "cut"):
            client, is_reused = await asyncio.to_thread(
                shaken, broker, context, session
            )
            with contextlib.closing(client):
                assert not is_reused
                session = client.session
                await until(lambda: broker.listener.connections)
                if how == "told":  # as a client should
                    with contextlib.suppress(OSError):  # of 1.2 nobody answers
                        await asyncio.to_thread(client.unwrap)
            await until(lambda: not broker.listener.connections)
        kept = broker.tls.identity.current.context.session_stats()
        assert (kept["number"], kept["hits"]) == (0, 0)


def shaken(
    broker: TlsBroker, context: ssl.SSLContext, session: ssl.SSLSession | None
) -> tuple[ssl.SSLSocket, bool | None]:
    """A handshake of a client that would go on with a session."""
    plain = socket.create_connection(("127.0.0.1", broker.listener.port), PATIENCE_S)
    client = context.wrap_socket(plain, server_hostname="localhost", session=session)
    return client, client.session_reused


async def test_the_broker_chooses_the_suite() -> None:
    """A05: a client that prefers another gets the broker's."""
    suites = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"]
    async with tls_broker() as broker:
        chosen = set()
        for wanted in (suites, suites[::-1]):
            words = ("-tls1_2", "-cipher", ":".join(wanted))
            said = await asyncio.to_thread(asked, broker, *words)
            chosen.add(said.partition("Cipher is ")[2].split()[0])
        assert len(chosen) == 1


@pytest.mark.parametrize(
    ("words", "is_spoken"),
    [
        (["-tls1_3"], True),
        (["-tls1_2"], True),
        (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], False),
        (["-tls1", "-cipher", "ALL:@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "AES128-SHA:@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"], False),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], True),
    ],
)
async def test_what_is_spoken_is_what_is_safe(
    words: list[str], is_spoken: bool
) -> None:
    """A05"""
    async with tls_broker() as broker:
        assert await asyncio.to_thread(scanned, broker, *words) is is_spoken


async def test_large_requests_wait_for_who_reads_slowly() -> None:
    """S033: a few who do not read keep nobody else waiting, and get all of it."""
    async with tls_broker() as broker, contextlib.AsyncExitStack() as stack:
        slow = [await stack.enter_async_context(connected(broker)) for _ in range(3)]
        big = "now:" + "".join(f"{number:08x}" for number in range((10 << 20) // 8))
        for client in slow:
            client.send(big, "now:after")
        await until(lambda: len(broker.unsent) == len(slow))
        async with connected(broker) as other:
            for number in range(100):
                other.send(f"now:{number}")
                assert await other.answer() == f"now:{number}"
        for client in slow:
            size = int.from_bytes(await client.reader.readexactly(4))
            found = bytearray()
            while len(found) < size:  # a little at a time
                found += await client.reader.read(min(4096, size - len(found)))
                await asyncio.sleep(0)
            assert found == big.encode()
            assert await client.answer() == "now:after"
        assert not broker.unsent
