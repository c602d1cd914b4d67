"""What security costs inside of the broker, at its start, and while nobody asks."""

import gc
import select
import socket
import ssl
import statistics
import subprocess
import sys
import time
from pathlib import Path

import dispatch_requests as requests
from guarded import Certificate, Guarded
from partitions import Loop
from samples import small_batch
from targets import ASK_VERSIONS, ROOT, environment

from odradek.broker.metadata.access.access import Access, Rules
from odradek.broker.metadata.access.acl_index import AclIndex
from odradek.protocol.acl_entries import AclEntry, PatternType, Permission
from odradek.protocol.acls import Operation, ResourceType

Figures = dict[str, float]

ENTRIES = 10_000
REQUESTS = 20_000
_START_SECONDS_MAX = 60


def short_ways(root: Path, rounds: int) -> Figures:
    """Requests without sockets, with an authorizer and without, taking turns."""
    loop = Loop()
    topics = AclEntry(
        ResourceType.TOPIC,
        "*",
        PatternType.LITERAL,
        "User:ANONYMOUS",
        "*",
        Operation.ALL,
        Permission.ALLOW,
    )
    servings = [
        loop.run(requests.start(root / "open")),
        loop.run(requests.start(root / "asked", authorizer_class_name="acl")),
    ]
    authorizer = servings[1].services.authorizer
    assert authorizer is not None
    loop.run(authorizer.acls.add([topics]))
    produce = requests.produce_bytes(small_batch(), 1)
    found: Figures = {}
    for name, frame in (("Produce", produce), ("Fetch", requests.fetch_bytes())):
        senders = [requests.Sender(serving, frame) for serving in servings]
        differences = []
        for turn in range(rounds * 4 + 1):
            took = [0.0, 0.0]
            for which in (0, 1) if turn % 2 else (1, 0):
                gc.collect()
                before = time.process_time()
                loop.run(senders[which].run(REQUESTS))
                took[which] = time.process_time() - before
            if turn:  # the first one learns
                differences.append((took[1] - took[0]) / REQUESTS * 1e6)
        row = f"the authorizer on the short way, {name}, µs"
        found[row] = statistics.median(differences)
    for serving in servings:
        loop.run(serving.close())
    loop.close()
    return found


def first_decisions() -> Figures:
    """Of a name that nobody has asked for yet, among many entries."""
    operations = tuple(Operation)[2:]
    entries = [
        AclEntry(
            ResourceType.TOPIC,
            f"topic-{number}",
            PatternType.PREFIXED if number % 2 else PatternType.LITERAL,
            f"User:{number % 100}",
            "*",
            operations[number % len(operations)],
            Permission.ALLOW,
        )
        for number in range(ENTRIES)
    ]
    access = Access(Rules(AclIndex(entries)), "User:7", "127.0.0.1")
    names = [f"topic-{number}" for number in range(ENTRIES // 2)]
    before = time.process_time()
    for name in names:
        access.may(Operation.READ, ResourceType.TOPIC, name)
    took = time.process_time() - before
    row = "a first decision, 10,000 entries, µs"
    return {row: took / len(names) * 1e6}


def starts(root: Path, certificate: Certificate, count: int) -> Figures:
    """Until the line that says so; with and without, taking turns."""
    secured = [
        "listeners=SASL_SSL://127.0.0.1:0",
        "sasl.enabled.mechanisms=SCRAM-SHA-256",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={certificate.both}",
    ]
    took: dict[str, list[float]] = {"plain": [], "secured": []}
    for turn in range(count + 1):
        for name, options in (("plain", []), ("secured", secured)):
            seconds = _ready_seconds(root / f"start-{name}", options)
            if turn:  # the first one fills the page cache
                took[name].append(seconds)
    plain, later = (statistics.median(each) for each in took.values())
    return {
        "ready, plain, ms": plain * 1e3,
        "ready with SASL_SSL, later than without by ms": (later - plain) * 1e3,
    }


def _ready_seconds(data_dir: Path, options: list[str]) -> float:
    command = [sys.executable, "-m", "odradek", "serve", "--port", "0"]
    command += ["--data-dir", str(data_dir)]
    command += [word for option in options for word in ("-o", option)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=ROOT, env=environment()
    ) as process:
        assert process.stdout is not None
        select.select([process.stdout], [], [], _START_SECONDS_MAX)
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.terminate()
    if not line:
        raise SystemExit("the broker did not start")
    return took


def connect(port: int) -> ssl.SSLSocket:
    """A connection of who believes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    sock = socket.create_connection(("127.0.0.1", port))
    return context.wrap_socket(sock)


def _open(port: int) -> ssl.SSLSocket:
    """One that has asked for versions, which anybody may."""
    wrapped = connect(port)
    wrapped.sendall(ASK_VERSIONS)
    if not wrapped.recv(4096):
        raise SystemExit("the broker closed a connection")
    return wrapped


def greet(port: int) -> None:
    """Connect, shake hands, ask, and leave."""
    _open(port).close()


def idle(broker: Guarded, count: int) -> Figures:
    """Connections that have asked for versions and say nothing more."""
    port = broker.at("SASL_SSL").port
    for _ in range(20):  # what is loaded and kept once
        greet(port)
    before = broker.memory_bytes()
    sockets = [_open(port) for _ in range(count)]
    grown = broker.memory_bytes() - before
    for sock in sockets:
        sock.close()
    return {"an idle connection with TLS, KB": grown / count / 1000}
