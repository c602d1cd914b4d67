"""S032: whatever is sent before a login, no bug shows, memory stays level, and it costs
the broker no more than logins that are meant well; so its neighbours notice no more.
"""

import os
import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.certificates import server
from tests.fuzz.hostile_logins import (
    MECHANISMS,
    PASSWORD,
    USER,
    Beginning,
    good_login,
    hostile_beginnings,
    joined,
)
from tests.fuzz.strangers import (
    Pinger,
    connect,
    cpu_seconds,
    ping,
    reset,
    resident_bytes,
)
from tests.tokens import Issuer

# Of both loops together 1,000,000.
COUNT = 500_000 if os.environ.get("ODRADEK_LONG") else 3_000
GOOD = 50_000 if os.environ.get("ODRADEK_LONG") else 1_000
LOOPS = {"uvloop": 1, "asyncio": 2}  # each meets beginnings of its own
AT_ONCE = 20
GROWTH_MAX_BYTES = 16 << 20
READY_EACH = re.compile(r"(127\.0\.0\.1):(\d+)")
LISTENERS = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL")


class Guarded:
    """The broker, and the port of each of its listeners."""

    def __init__(self, broker: BrokerProcess, ports: Sequence[int], jwt: str) -> None:
        self.broker = broker
        self.ports = dict(zip(LISTENERS, ports, strict=True))
        self.jwt = jwt
        self.answered = 0

    def hostile_us(self, count: int, seed: int) -> float:
        """What each of so many hostile beginnings costs the broker."""
        return self.cpu_us_of(hostile_beginnings(count, seed, self.jwt))

    def send(self, beginnings: Sequence[Beginning]) -> None:
        """All at once; each is over when the broker has closed its connection."""
        sockets = []
        for listener, sent in beginnings:
            sock = connect(self.ports[listener])
            sockets.append(sock)
            try:
                sock.sendall(sent)
                sock.shutdown(socket.SHUT_WR)
            except OSError:  # it was faster
                continue
        for sock in sockets:
            self.answered += _read_to_end(sock)
            reset(sock)

    def cpu_us_of(self, beginnings: Iterator[Beginning]) -> float:
        """What one costs the broker."""
        count, before = 0, cpu_seconds(self.broker.pid)
        for some in _in_packs(beginnings):
            self.send(some)
            count += len(some)
        return (cpu_seconds(self.broker.pid) - before) / count * 1e6


def _in_packs(beginnings: Iterator[Beginning]) -> Iterator[list[Beginning]]:
    pack: list[Beginning] = []
    for each in beginnings:
        pack.append(each)
        if len(pack) == AT_ONCE:
            yield pack
            pack = []
    if pack:
        yield pack


def _read_to_end(sock: socket.socket) -> bool:
    """Whether anything was answered."""
    size = 0
    try:
        while piece := sock.recv(1 << 16):
            size += len(piece)
    except ConnectionError:
        pass
    return size > 0


def good_beginnings(count: int) -> Iterator[Beginning]:
    """Logins of who is let in."""
    sent = joined(good_login("PLAIN"))
    return (Beginning("SASL_PLAINTEXT", sent) for _ in range(count))


@pytest.fixture(params=LOOPS)
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guarded]:
    users = tmp_path / "users"
    users.write_text(f"{USER}:{PASSWORD}\n")
    users.chmod(0o600)
    holder = server()
    issuer = Issuer(tmp_path)
    options = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": issuer.keys.as_uri(),
        "sasl.oauthbearer.expected.audience": issuer.audience,
        "plain.users.file": users,
        "ssl.certificate.file": holder.certificate,
        "ssl.key.file": holder.key,
        "connection.failed.authentication.delay.ms": 0,
    }
    words = [word for each in options.items() for word in ("-o", "{}={}".format(*each))]
    broker = BrokerProcess(tmp_path / "data", words, loop=request.param)
    try:
        ports = [int(found[2]) for found in READY_EACH.finditer(broker.start())]
        yield Guarded(broker, ports, issuer.token(USER, life_s=86_400))
        broker.terminate()
        assert "Traceback" not in broker.log()
    finally:
        broker.kill()


def test_what_comes_before_a_login_hurts_nobody(
    guarded: Guarded, request: pytest.FixtureRequest
) -> None:
    """S032"""
    loop = request.node.callspec.params["guarded"]
    pid = guarded.broker.pid
    with Pinger(guarded.ports["PLAINTEXT"]) as pinger:
        guarded.hostile_us(COUNT // 10, seed=100)  # fills what stays
        before = resident_bytes(pid)
        pinger.times_ms.clear()
        good_us = guarded.cpu_us_of(good_beginnings(GOOD))
        beside_good = str(pinger)
        pinger.times_ms.clear()
        guarded.answered = 0
        hostile_us = guarded.hostile_us(COUNT, seed=LOOPS[loop])
        grown = resident_bytes(pid) - before
        print(
            f"{loop}: {COUNT} hostile beginnings, {guarded.answered} answered,"
            f" {hostile_us:.0f} µs each, good logins {good_us:.0f} µs;"
            f" +{grown >> 10} KiB; a neighbour beside good logins {beside_good},"
            f" beside these {pinger}"
        )
        assert not pinger.failed
    assert guarded.answered > COUNT // 4
    assert grown < GROWTH_MAX_BYTES
    assert hostile_us < 2 * good_us, "they cost more than logins do"
    with connect(guarded.ports["PLAINTEXT"]) as sock:
        assert ping(sock)
