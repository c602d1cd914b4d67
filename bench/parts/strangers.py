"""How long a neighbour waits for its answers while a crowd of strangers is about.

The neighbour has its own listener, without TLS, and asks for versions all the time. On
a machine with few cores the strangers' process must not take its CPU from it: it is
nice, and so what is left is what the broker does for them. How much of that is the
machine's, with its cores shared, is told by the same crowd at another broker.
"""

import select
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from guarded import SASL_SSL, Guarded
from targets import ASK_VERSIONS

Figures = dict[str, float]

_LOAD = Path(__file__).with_name("stranger_load.py")
_PAUSE_S = 0.002  # between two requests
_COMING_S_MAX = 20


class Kind(NamedTuple):
    """A crowd: what its options are, and what it is in the row."""

    name: str
    options: tuple[str, ...]


SLOW_HELLOS = Kind("slow half hellos", ("hello",))
UNENDED = Kind("handshakes that never end", ("unended",))
SLOW_CLAIMS = Kind("slow claims over TLS", ("claim",))
FLOOD = Kind(
    "who are refused and come back at once",
    ("claim", "--claim", str(100 << 20), "--pause", "0"),
)
SLOW = (SLOW_HELLOS, UNENDED, SLOW_CLAIMS)
KINDS = (*SLOW, FLOOD)


def p99_row(kind: Kind) -> str:
    return f"a neighbour's p99 beside a crowd of {kind.name}, ms"


def times_row(kind: Kind) -> str:
    return f"the same, times its p99 alone: {kind.name}"


def elsewhere_row(kind: Kind) -> str:
    return f"the same, the crowd at another broker: {kind.name}"


def beside_strangers(
    broker: Guarded, elsewhere: Guarded, kind: Kind, count: int, seconds: float
) -> Figures:
    """The p99 of a neighbour beside a crowd, and how many times that alone it is.

    The latter also with the crowd at ``elsewhere``, while the neighbour stays.
    """
    alone = [_p99_ms(broker.port, seconds)]
    beside = []
    for target in (broker, elsewhere):
        with _crowd(kind, target.at(SASL_SSL).port, count):
            beside.append(_p99_ms(broker.port, seconds))
        alone.append(_p99_ms(broker.port, seconds))
    usual = statistics.mean(alone)
    return {
        p99_row(kind): beside[0],
        times_row(kind): beside[0] / usual,
        elsewhere_row(kind): beside[1] / usual,
    }


@contextmanager
def _crowd(kind: Kind, port: int, count: int) -> Iterator[None]:
    """The crowd, once everybody has come, or as many as get in by then."""
    words = [*kind.options, "--port", str(port), "--count", str(count)]
    command = [sys.executable, str(_LOAD), *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        select.select([process.stdout], [], [], _COMING_S_MAX)
        try:
            yield
        finally:
            process.stdin.close()
            print(kind.name, *process.stdout.read().split("\n"), file=sys.stderr)


def _p99_ms(port: int, seconds: float) -> float:
    took: list[float] = []
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            link.sendall(ASK_VERSIONS)
            _answer(link)
            took.append(time.perf_counter() - began)
            time.sleep(_PAUSE_S)
    return statistics.quantiles(took, n=100)[-1] * 1e3


def _answer(link: socket.socket) -> None:
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        more = link.recv(1 << 16)
        if not more:
            raise SystemExit("the broker closed a neighbour's connection")
        data += more
