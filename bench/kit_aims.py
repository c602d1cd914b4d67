"""The aims of odradek.testing, measured: a row of a table for each.

.venv/bin/python bench/kit_aims.py [--rounds 20]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient, NewTopic

from odradek.testing import Broker, forks

if TYPE_CHECKING:
    from collections.abc import Callable

LOADING = """
import pytest, time
before = time.perf_counter()
import odradek.testing.plugin
print((time.perf_counter() - before) * 1000)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    print("| what | aim | median | least |\n|---|---|---|---|")
    _row("the plugin loads", "10 ms", [_loading_ms() for _ in range(rounds)])
    forks._forks._is_possible = False
    _row("a broker, the first", "300 ms", [_start_ms() for _ in range(rounds)])
    forks._forks._is_possible = True
    _start_ms()  # and who forks
    _row("a broker, after it", "60 ms", [_start_ms() for _ in range(rounds)])
    with Broker() as broker:
        print(f"| memory of a broker | 40 MB | {_resident_mb(broker):.0f} MB | |")
        _topics(broker, rounds)
        _waits(broker, rounds)
        _resets(broker, rounds)
    _snapshots(rounds)


def _topics(broker: Broker, rounds: int) -> None:
    numbers = range(rounds)
    kit = [_ms(lambda n=n: broker.topic(f"kit-{n}")) for n in numbers]
    _row("a topic, by the kit", "5 ms", kit)
    admin = AdminClient(broker.config("confluent"))
    admin.list_topics(timeout=10)

    def make(number: int) -> None:
        for made in admin.create_topics([NewTopic(f"rd-{number}", 1)]).values():
            made.result()

    _row("a topic, by librdkafka", "5 ms", [_ms(lambda n=n: make(n)) for n in numbers])


def _waits(broker: Broker, rounds: int) -> None:
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
    _row("a wait, after its cause", "2 ms", late)


def _resets(broker: Broker, rounds: int) -> None:
    took = []
    for _ in range(rounds):
        broker.reset()
        for number in range(20):
            broker.topic(f"reset-{number}").produce(["x"])
        took.append(_ms(broker.reset))
    _row("a reset of 20 topics", "20 ms", took)


def _snapshots(rounds: int) -> None:
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
    _row("a snapshot of 100 MB", "50 ms", took)
    _row("a fork of it, ready", "300 ms", forked)


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


def _row(what: str, aim: str, found_ms: list[float]) -> None:
    median = statistics.median(found_ms)
    print(f"| {what} | {aim} | {median:.1f} ms | {min(found_ms):.1f} ms |", flush=True)


if __name__ == "__main__":
    main()
