"""The aims of odradek.testing, measured: a row of a table for each.

    python bench/kit_aims.py
    python bench/kit_aims.py --markdown docs/benchmarks.md

What a request costs the broker is its own CPU time: of one with and without a journal
in turns, and of pairs of brokers that are started alike, but for ``test.control``. No
two processes cost the same, so each pair is a new one. The medians of all rounds, and
of their ratios.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic

from odradek.client.connection import Connection
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.testing import Broker, forks

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "parts"))

from tables import machine, replace_section, short, table  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECTION = "test kit"
LOADING = """
import pytest, time
before = time.perf_counter()
import odradek.testing.plugin
print((time.perf_counter() - before) * 1000)
"""
REQUESTS = 5000
AHEAD = 50  # so many are sent before their answers are read
ROUNDS_OF_PAIR = 4


class Row(NamedTuple):
    """What was measured."""

    what: str
    aim: str
    median: str
    least: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    args = parser.parse_args()
    rows = list(_rows(args.rounds))
    text = table(["what", "aim", "median", "least"], rows)
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def _rows(rounds: int) -> Iterator[Row]:
    yield _row("the plugin loads", "10 ms", [_loading_ms() for _ in range(rounds)])
    forks._forks._is_possible = False
    first = [_start_ms() for _ in range(rounds)]
    yield _row("first use: a broker is ready", "300 ms", first)
    forks._forks._is_possible = True
    _start_ms()  # and who forks
    later = [_start_ms() for _ in range(rounds)]
    yield _row("a broker, from the second on", "60 ms", later)
    with Broker() as broker:
        yield Row("memory of a broker", "40 MB", f"{_resident_mb(broker):.0f} MB")
        yield from _topics(broker, rounds)
        yield _waits(broker, rounds)
        yield _resets(broker, rounds)
    yield from _snapshots(rounds)
    yield _journal(rounds)
    yield _control(rounds)


def _topics(broker: Broker, rounds: int) -> Iterator[Row]:
    numbers = range(rounds)
    kit = [_ms(lambda n=n: broker.topic(f"kit-{n}")) for n in numbers]
    yield _row("a topic, by the kit", "5 ms", kit)
    admin = AdminClient(broker.config("confluent"))
    admin.list_topics(timeout=10)

    def make(number: int) -> None:
        for made in admin.create_topics([NewTopic(f"rd-{number}", 1)]).values():
            made.result()

    made = [_ms(lambda n=n: make(n)) for n in numbers]
    yield _row("a topic, by librdkafka", "5 ms", made)


def _waits(broker: Broker, rounds: int) -> Row:
    """From the answer to a produce until who waits for the record has been told."""
    late = []
    for number in range(rounds):
        topic = broker.topic(f"wait-{number}")
        ended: list[float] = []

        def wait(topic: str = topic, ended: list[float] = ended) -> None:
            broker.wait.records(topic, 1)
            ended.append(time.perf_counter())

        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.05)  # it waits
        topic.produce(["x"])
        produced = time.perf_counter()
        waiter.join()
        late.append(max(0.0, (ended[0] - produced) * 1000))
    return _row("a wait, after its cause", "2 ms", late)


def _resets(broker: Broker, rounds: int) -> Row:
    took = []
    for _ in range(rounds):
        broker.reset()
        for number in range(20):
            broker.topic(f"reset-{number}").produce(["x"])
        took.append(_ms(broker.reset))
    return _row("a reset of 20 topics", "20 ms", took)


def _snapshots(rounds: int) -> Iterator[Row]:
    with Broker() as broker:
        topic = broker.topic("large", config={"segment.bytes": 1 << 20})
        for _ in range(100):
            topic.produce([b"x" * 250_000] * 4)
        took, forked = [], []
        for _ in range(rounds):
            before = time.perf_counter()
            snapshot = broker.snapshot()
            took.append((time.perf_counter() - before) * 1000)
            before = time.perf_counter()
            with Broker(snapshot=snapshot):
                forked.append((time.perf_counter() - before) * 1000)
    yield _row("a snapshot of 100 MB", "50 ms", took)
    yield _row("a fork of it, ready", "300 ms", forked)


def _start_ms() -> float:
    before = time.perf_counter()
    with Broker():
        return (time.perf_counter() - before) * 1000


def _loading_ms() -> float:
    done = subprocess.run(
        [sys.executable, "-c", LOADING], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _resident_mb(broker: Broker) -> float:
    lines = Path(f"/proc/{broker.pid}/status").read_text().splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith("VmRSS:")) / 1024


def _ms(call: Callable[[], object]) -> float:
    before = time.perf_counter()
    call()
    return (time.perf_counter() - before) * 1000


def _row(what: str, aim: str, found_ms: list[float]) -> Row:
    median, least = statistics.median(found_ms), min(found_ms)
    return Row(what, aim, f"{short(median)} ms", f"{short(least)} ms")


# What a request costs


def _journal(rounds: int) -> Row:
    """One broker, with a journal and without, in turns."""
    with Broker() as broker:
        broker.topic("t")
        with _asker(broker.bootstrap) as ask:
            ask()
            without, with_it = [], []
            for _ in range(rounds):
                without.append(_cpu_us(broker.pid, ask))
                with broker.journal():
                    with_it.append(_cpu_us(broker.pid, ask))
    return _compared("journal on: CPU of a small request", "+25 %", without, with_it)


def _control(rounds: int) -> Row:
    """Brokers that can be steered, and have no rule and no journal, and plain ones."""
    plain, steered = [], []
    for _ in range(rounds):
        with _served() as one, _served("test.control=true") as other:
            asks = [_asker(each.bootstrap) for each in (one, other)]
            with asks[0] as ask_plain, asks[1] as ask_steered:
                ask_plain()
                ask_steered()
                for _ in range(ROUNDS_OF_PAIR):
                    plain.append(_cpu_us(one.pid, ask_plain))
                    steered.append(_cpu_us(other.pid, ask_steered))
    return _compared("no rule, no journal: CPU of one", "+0 %", plain, steered)


def _compared(what: str, aim: str, before: list[float], after: list[float]) -> Row:
    ratios = [b / a for a, b in zip(before, after, strict=True)]
    more = (statistics.median(ratios) - 1) * 100
    figures = f"{short(statistics.median(before))} to {short(statistics.median(after))}"
    return Row(what, aim, f"{more:+.1f} %", f"{figures} µs")


@contextmanager
def _asker(bootstrap: str) -> Iterator[Callable[[], None]]:
    """What asks for one topic, many times."""
    host, _, port = bootstrap.rpartition(":")
    topics = [MetadataRequestTopic(name="t")]
    frame = encode_request(MetadataRequest(topics=topics), 9, 1, "bench")

    with Connection(host, int(port)) as connection:

        def ask() -> None:
            for _ in range(REQUESTS // AHEAD):
                for _ in range(AHEAD):
                    connection.send_frame(frame)
                for _ in range(AHEAD):
                    connection.receive_frame()

        yield ask


class Served(NamedTuple):
    """A broker as a command starts it."""

    bootstrap: str
    pid: int


@contextmanager
def _served(*options: str) -> Iterator[Served]:
    """One with the topic ``t``."""
    with tempfile.TemporaryDirectory() as directory:
        odradek = Path(sys.executable).with_name("odradek")
        given = [f"log.dirs={directory}", "durability=none", *options]
        words = [word for option in given for word in ("-o", option)]
        process = subprocess.Popen(
            [str(odradek), "serve", "--port", "0", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            served = Served(ready.split()[3].rstrip(","), process.pid)
            admin = AdminClient({"bootstrap.servers": served.bootstrap, "log_level": 0})
            admin.create_topics([NewTopic("t", 1)])["t"].result()
            del admin
            yield served
        finally:
            process.terminate()
            process.wait()


def _cpu_us(pid: int | None, ask: Callable[[], None]) -> float:
    """What a request costs that process, in its first thread."""
    path = Path(f"/proc/{pid}/schedstat")
    before_ns = int(path.read_text().split()[0])
    ask()
    return (int(path.read_text().split()[0]) - before_ns) / 1000 / REQUESTS


if __name__ == "__main__":
    main()
