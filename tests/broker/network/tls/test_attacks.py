"""What strangers do to a listener with TLS, and what it costs."""

import asyncio
import contextlib
import os
import ssl
import subprocess

import pytest

from tests.broker.network.tls.words import TlsBroker, connected, tls_broker
from tests.certificates import authority
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
    address = f"127.0.0.1:{broker.listener.port}"
    done = subprocess.run(
        ["openssl", "s_client", "-connect", address, *words],
        input=b"",
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return b"Cipher is (NONE)" not in done.stdout and b"Cipher is" in done.stdout


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
    async with tls_broker() as broker:
        assert await asyncio.to_thread(scanned, broker, *words) is is_spoken


async def test_large_requests_wait_for_who_reads_slowly() -> None:
    async with tls_broker() as broker, connected(broker) as client:
        big = "now:" + "x" * (10 << 20)
        client.send(big)
        assert await client.answer() == big
        client.send(big)
        size = int.from_bytes(await client.reader.readexactly(4))
        found = 0
        while found < size:  # a little at a time
            found += len(await client.reader.read(4096))
            await asyncio.sleep(0)
        async with connected(broker) as other:
            other.send("now:1")
            assert await other.answer() == "now:1"
        assert found == size
