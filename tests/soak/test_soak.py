"""A broker that is in use for a long time holds no more than it did at first.

A crowd (`crowd`) produces, reads at the tail and from the beginning, breaks off,
does not read, makes and deletes topics, is started anew. When it has gone, no
descriptor is left. Once all of them have been there for a while, memory stays at its
level, and the loop has held up nobody for long: that is only told with ODRADEK_LONG=1,
for half an hour. Else as much is done as there is time for, which is one turn at least.
"""

import contextlib
import os
import random
import socket
import statistics
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import wait_until
from tests.fuzz.strangers import resident_bytes
from tests.patience import PATIENCE_S
from tests.processor import turns
from tests.soak.crowd import Crowd

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
SOAK_S, TURNS = (1800, 40) if IS_LONG else (15, 1)  # for so long, and so much at least
WARM_UP = 16  # turns: every client was started anew twice
GROWTH_MAX = 1.10
# 50 ms here, in turns of a plain loop: others hold that up as well.
PAUSE_TURNS_MAX = 2_000_000

HTTP_ADDRESS = "127.0.0.2"
LONGEST = "odradek_loop_longest_pause_seconds"
LONGEST_CPU = "odradek_loop_longest_pause_cpu_seconds"

OPTIONS = (
    *("-o", "log.retention.check.interval.ms=500"),
    *("-o", "log.cleaner.backoff.ms=500"),
    *("-o", "log.flush.offset.checkpoint.interval.ms=1000"),
    *("-o", "offsets.topic.num.partitions=4"),
    *("-o", "offsets.topic.segment.bytes=1048576"),
    *("-o", "transaction.state.log.num.partitions=4"),
    *("-o", "transaction.state.log.segment.bytes=1048576"),
)


class Watch:
    """What the broker holds, each time that the crowd has done its turn."""

    def __init__(self, broker: BrokerProcess, page: str) -> None:
        self.memory: list[int] = []
        self.pause_s = self.pause_cpu_s = 0.0
        self._broker = broker
        self._page = page

    def look(self) -> None:
        self.memory.append(resident_bytes(self._broker.pid))
        values = self._metrics()
        self.pause_s = max(self.pause_s, values[LONGEST])
        self.pause_cpu_s = max(self.pause_cpu_s, values[LONGEST_CPU])

    def _metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(self._page, timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        split = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in split}

    def __str__(self) -> str:
        mib = [each >> 20 for each in self.memory]
        pauses = f"{self.pause_s * 1000:.0f} ms, of CPU {self.pause_cpu_s * 1000:.0f}"
        return f"MiB {mib}, longest pause {pauses}"


def free_port() -> int:
    """Of an address that nothing else uses, so that it stays free."""
    with socket.socket() as any_:
        any_.bind((HTTP_ADDRESS, 0))
        port: int = any_.getsockname()[1]
    return port


class Descriptors(NamedTuple):
    """What a process has open: connections, files that are gone, others twice."""

    sockets: int
    deleted: int
    repeated: int


def descriptors(broker: BrokerProcess) -> Descriptors:
    found: Counter[str] = Counter()
    for each in Path(f"/proc/{broker.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[str(each.readlink())] += 1
    files = [each for each in found if each.startswith("/")]
    return Descriptors(
        sockets=sum(each.startswith("socket:") for each in found),
        deleted=sum(each.endswith("(deleted)") for each in files),
        repeated=sum(found[each] - 1 for each in files),
    )


def test_what_is_in_use_for_long_holds_no_more(tmp_path: Path) -> None:
    http = f"{HTTP_ADDRESS}:{free_port()}"
    listener = "-o", f"http.listener={http}"
    with running_broker(tmp_path / "data", *OPTIONS, *listener) as broker:
        watch = Watch(broker, f"http://{http}/metrics")
        before, begun = descriptors(broker), time.monotonic()
        with Crowd(broker, random.Random(7)) as crowd:
            while crowd.count < TURNS or time.monotonic() < begun + SOAK_S:
                crowd.turn()
                watch.look()
        wait_until(lambda: at_most(descriptors(broker), before))
        print(f"{crowd.count} turns in {time.monotonic() - begun:.0f} s; {watch}")
        broker.terminate()
        assert "Traceback" not in broker.log()
    if IS_LONG:
        assert_level(watch)


def assert_level(watch: Watch) -> None:
    """Memory has not grown since the crowd was warm, and nobody waited for long."""
    warm = watch.memory[WARM_UP:]
    middle = len(warm) // 2
    level, later = statistics.median(warm[:middle]), statistics.median(warm[middle:])
    assert later <= level * GROWTH_MAX, watch
    assert turns(watch.pause_cpu_s) <= PAUSE_TURNS_MAX, watch


def at_most(now: Descriptors, before: Descriptors) -> bool:
    return all(new <= old for new, old in zip(now, before, strict=True))
