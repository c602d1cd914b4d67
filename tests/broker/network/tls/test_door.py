import asyncio
import contextlib
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.network.tls.door import Door, Handshake
from odradek.broker.network.tls.transport import Ends
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.security.certificates.renewal import Renewal
from tests.authority import Authority as Issuing
from tests.authority import date_of
from tests.broker.network.tls.words import client_context, connected, tls_broker
from tests.broker.security.certificates.copies import Copies
from tests.certificates import (
    ALICE_AS_JAVA_HAS_IT,
    SERVER,
    Authority,
    Holder,
    alice,
    authority,
    server,
    stranger,
)
from tests.fakes.broker import until


@pytest.mark.parametrize(
    ("client_auth", "holder", "principal"),
    [
        ("none", None, "User:ANONYMOUS"),
        ("requested", None, "User:ANONYMOUS"),
        ("required", alice, f"User:{ALICE_AS_JAVA_HAS_IT}"),
    ],
)
async def test_who_a_client_is(
    client_auth: str, holder: object, principal: str
) -> None:
    shown = alice() if holder is not None else None
    async with (
        tls_broker(ssl_client_auth=client_auth) as broker,
        connected(broker, shown) as client,
    ):
        client.send("now:1")
        assert await client.answer() == "now:1"
        (connection,) = broker.listener.connections
        assert connection.info.principal == principal


async def test_rules_say_who_it_is_and_who_is_nobody() -> None:
    rules = "RULE:^CN=(.*?),OU=Orders.*$/$1/U"
    async with (
        tls_broker(
            ssl_client_auth="required", ssl_principal_mapping_rules=rules
        ) as broker,
        connected(broker, alice()) as client,
    ):
        client.send("now:1")
        await client.answer()
        (connection,) = broker.listener.connections
        assert connection.info.principal == "User:ALICE"
    async with (
        tls_broker(
            ssl_client_auth="required", ssl_principal_mapping_rules="RULE:x/y/"
        ) as broker,
        connected(broker, alice()) as client,
    ):
        assert await client.reader.read() == b""
        assert any("no rule of ssl.principal.mapping" in line for line in broker.log)
        assert not broker.listener.network.admission.count


@pytest.mark.parametrize("shown", [None, stranger])
async def test_who_is_not_trusted_does_not_get_in(shown: object) -> None:
    holder = None if shown is None else stranger()
    async with tls_broker(ssl_client_auth="required") as broker:
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            async with connected(broker, holder) as client:
                assert await client.reader.read() == b""
        await until(lambda: broker.log)
        assert not broker.listener.connections
        assert not broker.listener.network.admission.count


async def test_a_certificate_that_has_expired_lets_nobody_in(tmp_path: Path) -> None:
    """A09, and the log says what is wrong with it."""
    ca = Issuing(tmp_path)
    path = ca.issue("late", from_date="20200101000000Z", to_date="20200102000000Z")
    async with tls_broker(
        ssl_client_auth="required", ssl_ca_file=str(ca.certificate)
    ) as broker:
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            async with connected(broker, Holder(path, path)) as client:
                assert await client.reader.read() == b""
        await until(lambda: broker.log)
        assert (
            "its certificate is not accepted: certificate has expired"
            in (broker.log[0])
        )
        assert not broker.listener.connections


async def test_a_certificate_that_expires_ends_no_connection(tmp_path: Path) -> None:
    """It is asked for at the handshake alone, as Apache Kafka does it."""
    ca = Issuing(tmp_path)
    options = {"ssl_client_auth": "required", "ssl_ca_file": str(ca.certificate)}
    async with tls_broker(**options) as broker, contextlib.AsyncExitStack() as stack:
        client, life_s = None, 1
        while client is None:  # nothing says how long a handshake takes here
            life_s *= 2
            end_s = int(time.time()) + life_s
            path = ca.issue(f"for-{life_s}", to_date=date_of(end_s))
            with contextlib.suppress(ssl.SSLError, EOFError, ConnectionError):
                tried = await stack.enter_async_context(
                    connected(broker, Holder(path, path))
                )
                tried.send("now:1")
                assert await tried.answer() == "now:1"
                client = tried
        broker.log.clear()
        await until(lambda: time.time() > end_s + 1)
        client.send("now:2")
        assert await client.answer() == "now:2"
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            async with connected(broker, Holder(path, path)) as late:
                assert await late.reader.read() == b""
        await until(lambda: broker.log)
        assert "certificate has expired" in broker.log[0]
        client.send("now:3")
        assert await client.answer() == "now:3"


async def test_a_name_of_a_hundred_parts_is_a_name() -> None:
    """A09: the whole of it is the principal, its comma escaped."""
    units = "".join(f"/OU=unit {number}" for number in range(98))
    holder = authority().issue(f"/O=a,b{units}/CN=x")
    async with (
        tls_broker(ssl_client_auth="required") as broker,
        connected(broker, holder) as client,
    ):
        client.send("now:1")
        assert await client.answer() == "now:1"
        (connection,) = broker.listener.connections
        parts = ["CN=x", *(f"OU=unit {number}" for number in reversed(range(98)))]
        assert connection.info.principal == f"User:{','.join(parts)},O=a\\,b"


async def test_who_speaks_no_tls_is_told_in_the_log() -> None:
    async with tls_broker() as broker:
        _, writer = await asyncio.open_connection("127.0.0.1", broker.listener.port)
        writer.write(b"\0\0\0\x20\0\x12\0\3")
        await until(lambda: broker.log)
        assert "set security.protocol=SSL in the client" in broker.log[0]
        writer.close()


@pytest.mark.parametrize(
    ("took_ms", "others_ms", "a_turn"),
    [(0, 9, 16), (1, 9, 3), (6, 9, 1), (1, 3, 2), (1, 1, 1), (0, 0, 1), (6, 0, 1)],
)
async def test_slow_handshakes_are_fewer_in_a_turn(
    took_ms: int, others_ms: int, a_turn: int
) -> None:
    """A key of RSA-4096 takes six milliseconds: the loop serves others in between."""
    async with tls_broker() as broker:
        door = Door(broker.listener.network, broker.tls, pytest.fail)
        made: list[int] = []

        class Slow(Handshake):
            __slots__ = ()

            def go_on(self) -> None:
                broker.clock.advance(took_ms)
                made.append(took_ms)

        ends = Ends(("127.0.0.1", 1), ("127.0.0.1", 2), 0)
        with socket.socket() as sock:
            for _ in range(20):
                door.add_ready(Slow(door, sock, ends))
        counts = []
        while len(made) < 20:
            before = len(made)
            broker.clock.advance(others_ms)
            await asyncio.sleep(0)
            counts.append(len(made) - before)
        assert max(counts) == a_turn


async def test_of_those_who_come_in_a_turn_one_goes_on_at_once() -> None:
    """The others wait for the next turns, and are not watched meanwhile."""
    async with tls_broker() as broker:
        door = Door(broker.listener.network, broker.tls, pytest.fail)
        made: list[str] = []

        class Noted(Handshake):
            __slots__ = ("name",)

            def go_on(self) -> None:
                made.append(f"{self.name}, watched: {self._is_watched}")

        pairs = [socket.socketpair() for _ in "abc"]
        come = []
        for name, (sock, _) in zip("abc", pairs, strict=True):
            each = Noted(door, sock, Ends(("127.0.0.1", 1), ("127.0.0.1", 2), 0))
            each.name = name
            each.begin()
            come.append(each)
        for each in come[:2]:
            door.add_ready(each)
        assert made == ["a, watched: True"]
        await asyncio.sleep(0)
        assert made == ["a, watched: True", "b, watched: False"]
        for _ in range(2):
            await asyncio.sleep(0)
        door.add_ready(come[2])
        assert made[2:] == ["c, watched: True"]
        for each, (sock, other) in zip(come, pairs, strict=True):
            each.wait()
            sock.close()
            other.close()


async def test_who_comes_while_nobody_is_read_is_read_afterwards() -> None:
    """The connection takes the watch over, and nobody is called for nothing."""
    async with tls_broker() as broker:
        broker.listener.freeze()
        async with connected(broker) as client:
            client.send("now:1")
            await until(lambda: broker.listener.connections)
            (connection,) = broker.listener.connections
            loop = asyncio.get_running_loop()
            transport: Any = connection._transport
            assert not loop.remove_reader(transport._fd), "it is watched"
            broker.listener.thaw()
            assert await client.answer() == "now:1"


async def test_who_is_silent_is_cut_off_and_the_oldest_goes() -> None:
    async with tls_broker() as broker:
        streams = [
            await asyncio.open_connection("127.0.0.1", broker.listener.port)
            for _ in range(4)
        ]
        assert await streams[0][0].read() == b""
        assert broker.tls.pre_auth.count == 3
        broker.clock.advance(10_000)
        broker.listener.sweep()
        assert [await reader.read() for reader, _ in streams[1:]] == [b""] * 3
        assert not broker.listener.network.admission.count
        for _, writer in streams:
            writer.close()


async def test_who_is_in_stays_when_the_certificate_is_another_one(
    tmp_path: Path,
) -> None:
    """S005: 200 connections: none drops, neither by a new file nor by a bad one."""
    threads, copies = DiskThreads(1), Copies(tmp_path, server())
    renewal = Renewal(threads)
    try:
        async with (
            tls_broker(copies.holder) as broker,
            contextlib.AsyncExitStack() as stack,
        ):
            identity = broker.tls.identity
            renewal.identities.append(identity)
            clients = [
                await stack.enter_async_context(connected(broker)) for _ in range(200)
            ]
            new = authority().issue(SERVER, names=["IP:127.0.0.1"])
            for step, spoilt in enumerate((False, True)):
                for number, client in enumerate(clients):  # one half is on its way
                    client.send(*([f"now:{step}"] if number % 2 else []))
                copies.put(new)
                if spoilt:
                    copies.spoil()
                (renewed,) = await renewal.look()
                assert renewed.is_new is not spoilt
                for number, client in enumerate(clients):
                    client.send(*([] if number % 2 else [f"now:{step}"]))
                    assert await client.answer() == f"now:{step}"
                assert len(broker.listener.connections) == 200
                async with connected(broker) as late:
                    shown = late.writer.get_extra_info("ssl_object").getpeercert(True)
                    assert ssl.DER_cert_to_PEM_cert(shown) == pem_of(new)
                await until(lambda: len(broker.listener.connections) == 200)
            assert identity.failure is not None
    finally:
        threads.close()


async def test_whom_a_new_truststore_does_not_have_does_not_get_in(
    tmp_path: Path,
) -> None:
    trusted = tmp_path / "ca.pem"
    trusted.write_text(pem_of(authority()))
    threads = DiskThreads(1)
    renewal = Renewal(threads)
    try:
        async with tls_broker(
            ssl_client_auth="required", ssl_ca_file=str(trusted)
        ) as broker:
            renewal.identities.append(broker.tls.identity)
            async with connected(broker, alice()) as client:
                trusted.write_text(pem_of(stranger()))
                assert (await renewal.look())[0].is_new
                with contextlib.suppress(ssl.SSLError, ConnectionError):
                    async with connected(broker, alice()) as late:
                        assert await late.reader.read() == b""
                await until(lambda: broker.log)
                client.send("now:1")  # who is in stays, as with Kafka
                assert await client.answer() == "now:1"
    finally:
        threads.close()


def pem_of(holder: Holder | Authority) -> str:
    return holder.certificate.read_text()


async def test_old_versions_and_weak_suites_are_not_spoken() -> None:
    """A05"""
    async with tls_broker() as broker:
        context = client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("AES128-SHA:@SECLEVEL=0")
        with pytest.raises(ssl.SSLError):
            await asyncio.open_connection(
                "127.0.0.1", broker.listener.port, ssl=context
            )
        await until(lambda: broker.log)
        assert "none of the cipher suites" in broker.log[0]
