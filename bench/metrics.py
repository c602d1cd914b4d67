"""Measures what it costs to be scraped: /metrics of a broker under full load.

    python bench/metrics.py
    python bench/metrics.py --markdown docs/benchmarks.md

16 connections produce without a pause while the broker holds many partitions with
records and a group that has committed in all of them. Short rounds with and without
scrapes take turns, the first of a pair now this, now that; what counts is CPU for each
request, and of all pairs the median of the differences. One scrape every five seconds
is less than what a machine varies by: in the rounds there are ten times as many, and a
tenth of the difference is told as well. Takes two minutes.
"""

import argparse
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from confluent_kafka import Consumer, Producer, TopicPartition  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402
from targets import Broker, Target, free_port, odradek  # noqa: E402
from work import RAW, measure, topic  # noqa: E402

SECTION = "metrics"
CONNECTIONS = 16
SCRAPE_INTERVAL_S = 0.5
USUAL_INTERVAL_S = 5
GROUP = "bench"


@dataclass
class Scraper:
    """Asks for /metrics again and again, from a thread."""

    port: int
    took_ms: list[float] = field(default_factory=list)
    size: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ask as long as the block takes."""
        self._stop.clear()
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        while not self._stop.wait(SCRAPE_INTERVAL_S):
            self._scrape()

    def _scrape(self) -> None:
        began = time.perf_counter()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            self.size = len(answer.read())
        self.took_ms.append((time.perf_counter() - began) * 1000)


def main() -> None:
    args = _arguments()
    http_port = free_port()
    plain = odradek("none")
    target = Target(
        plain.name, f"{plain.command} -o http.listener=127.0.0.1:{http_port}"
    )
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        broker = Broker(target, Path(root))
        broker.start()
        try:
            text = _measure(broker, http_port, args)
        finally:
            broker.stop()
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20, help="pairs")
    parser.add_argument("--seconds", type=float, default=2, help="of a round")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


def _measure(broker: Broker, http_port: int, args: argparse.Namespace) -> str:
    scraper = Scraper(http_port)
    costs: dict[bool, list[float]] = {False: [], True: []}
    with topic(broker, args.partitions) as held, topic(broker) as loaded:
        _fill(broker, held, args.partitions)
        _cost(broker, loaded, args.seconds)
        for number in range(args.rounds):
            for is_scraped in (False, True) if number % 2 else (True, False):
                with scraper.running() if is_scraped else nullcontext():
                    cost = _cost(broker, loaded, args.seconds)
                costs[is_scraped].append(cost)
    return _told(costs, scraper, args)


def _cost(broker: Broker, name: str, seconds: float) -> float:
    """CPU of a request, in µs."""
    figures = measure(
        broker, RAW, "produce", topic=name, connections=CONNECTIONS, seconds=seconds
    )
    return figures["broker_cpu_s"] / figures["requests"] * 1e6


def _told(
    costs: dict[bool, list[float]], scraper: Scraper, args: argparse.Namespace
) -> str:
    without, scraped = costs[False], costs[True]
    more = sorted(
        100 * (one / other - 1) for one, other in zip(scraped, without, strict=True)
    )
    low, _, high = quantiles(more, n=4)
    share = SCRAPE_INTERVAL_S / USUAL_INTERVAL_S
    often, usual = f"{SCRAPE_INTERVAL_S:g} s", f"{USUAL_INTERVAL_S:g} s"
    took_ms = scraper.took_ms
    rows = [
        ["CPU of a request, not scraped", f"{short(median(without))} µs"],
        [f"the same, scraped every {often}", f"{short(median(scraped))} µs"],
        ["more, median of the pairs", f"{median(more):+.2f} %"],
        ["half of the pairs", f"{low:+.2f} to {high:+.2f} %"],
        [f"so with a scrape every {usual}", f"{median(more) * share:+.2f} %"],
        ["a scrape under full load, median", f"{short(median(took_ms))} ms"],
        ["the longest", f"{short(max(took_ms))} ms"],
        ["its size", f"{scraper.size / 1024:,.0f} KiB"],
    ]
    about = (
        f"{args.partitions:,} partitions with records, a group with an offset in each,"
        f" {CONNECTIONS} connections that produce; {args.rounds} pairs of rounds of"
        f" {args.seconds:g} s."
    )
    return f"{about}\n\n{table(['', 'measured'], rows)}"


def _fill(broker: Broker, name: str, partitions: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for partition in range(partitions):
        producer.produce(name, b"x" * 100, partition=partition)
    producer.flush()
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": GROUP})
    places = [TopicPartition(name, partition, 0) for partition in range(partitions)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main()
