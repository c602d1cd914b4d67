"""What it costs a broker to be connected to, and to be logged in to.

Beside it servers of a few lines (`bare_server.py`) are connected to in the same way,
in turns: on another machine, or in another hour of this one, the ratio stays.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import processes
import secured
from guarded import SASL_PLAINTEXT, SASL_SSL, Certificate, Guarded
from targets import ASK_VERSIONS

Figures = dict[str, float]

TURNS = 5
REQUESTS_A_LOGIN = 4  # versions, the choice of SCRAM, two tokens
_SERVER = Path(__file__).with_name("bare_server.py")

TLS, LOGIN, LOGIN_TLS = (
    "a connection with TLS: CPU µs",
    "SCRAM login, plain: CPU µs",
    "SCRAM login, TLS: CPU µs",
)
BARE = {
    TLS: "a connection with TLS, a bare server: CPU µs",
    LOGIN: "four answers, plain, a bare server: CPU µs",
    LOGIN_TLS: "four answers, TLS, a bare server: CPU µs",
}
UVLOOP = "a connection with TLS, a bare server on uvloop: CPU µs"
RATIO = {
    TLS: "a connection with TLS, times a bare server's",
    LOGIN: "SCRAM login, plain, times four answers of a bare server",
    LOGIN_TLS: "SCRAM login, TLS, times four answers of a bare server",
}


class Work(NamedTuple):
    """What is done again and again, and whose CPU it costs."""

    row: str
    do: Callable[[], object]
    cpu_seconds: Callable[[], float]


def connections(broker: Guarded, count: int) -> Figures:
    """What one of each kind costs the broker."""
    return _measure(_works(broker), count)


def beside_bare_servers(
    broker: Guarded, certificate: Certificate, count: int
) -> Figures:
    """The same, what it costs servers of a few lines, and how many times that it is."""
    with ExitStack() as stack:

        def bare(how: str, *options: str) -> "BareServer":
            return stack.enter_context(bare_server(how, *options))

        secure = "--certificate", str(certificate.both)
        blocking, plain = bare("blocking", *secure), bare("blocking")
        uvloop = bare("uvloop", *secure)
        works = [
            *_works(broker),
            Work(BARE[TLS], blocking.greet, blocking.cpu_seconds),
            Work(UVLOOP, uvloop.greet, uvloop.cpu_seconds),
            Work(BARE[LOGIN], plain.ask_plainly, plain.cpu_seconds),
            Work(BARE[LOGIN_TLS], blocking.ask, blocking.cpu_seconds),
        ]
        found = _measure(works, count)
    return found | {RATIO[row]: found[row] / found[BARE[row]] for row in BARE}


def _works(broker: Guarded) -> list[Work]:
    def logging_in(protocol: str) -> Callable[[], object]:
        return lambda: broker.connect(protocol, "SCRAM-SHA-256").close()

    port = broker.at(SASL_SSL).port
    cpu = broker.cpu_seconds
    return [
        Work(TLS, lambda: secured.greet(port), cpu),
        Work(LOGIN, logging_in(SASL_PLAINTEXT), cpu),
        Work(LOGIN_TLS, logging_in(SASL_SSL), cpu),
    ]


def _measure(works: list[Work], count: int) -> Figures:
    """Microseconds of each work, which take turns."""
    spent = dict.fromkeys((work.row for work in works), 0.0)
    each_turn = -(-count // TURNS)
    for work in works:
        work.do()
    for _ in range(TURNS):
        for work in works:
            before = work.cpu_seconds()
            for _ in range(each_turn):
                work.do()
            time.sleep(0.05)  # the last one is closed
            spent[work.row] += work.cpu_seconds() - before
    return {row: seconds / (TURNS * each_turn) * 1e6 for row, seconds in spent.items()}


class BareServer(NamedTuple):
    """One of them, running."""

    pid: int
    port: int

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self.pid)

    def greet(self) -> None:
        """Connect, shake hands, ask, and leave."""
        secured.greet(self.port)

    def ask(self) -> None:
        """As often as a client that logs in."""
        with secured.connect(self.port) as client:
            _ask(client)

    def ask_plainly(self) -> None:
        """The same without TLS."""
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            _ask(client)


def _ask(client: socket.socket) -> None:
    for _ in range(REQUESTS_A_LOGIN):
        client.sendall(ASK_VERSIONS)
        if not client.recv(4096):
            raise SystemExit("a bare server closed a connection")


@contextmanager
def bare_server(*words: str) -> Iterator[BareServer]:
    command = [sys.executable, str(_SERVER), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield BareServer(process.pid, int(process.stdout.readline()))
        finally:
            process.terminate()
