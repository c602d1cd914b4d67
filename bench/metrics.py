"""Measures what it costs to be scraped: /metrics of a broker under full load.

    python -P bench/metrics.py
    python -P bench/metrics.py --rounds 6 --markdown docs/benchmarks.md

16 connections produce without a pause while the broker holds many partitions with
records and a group that has committed in all of them. Rounds with a scrape every five
seconds and rounds without take turns; what counts is CPU for each request.
"""

import argparse
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from confluent_kafka import Consumer, Producer, TopicPartition  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402
from targets import Broker, Target, free_port, odradek  # noqa: E402
from work import RAW, measure, topic  # noqa: E402

SECTION = "metrics"
CONNECTIONS = 16
SCRAPE_INTERVAL_S = 5
GROUP = "bench"


@dataclass
class Scraper:
    """Asks for /metrics every five seconds, from a thread."""

    port: int
    took_ms: list[float] = field(default_factory=list)
    size: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while True:
            self.scrape()
            if self._stop.wait(SCRAPE_INTERVAL_S):
                return

    def scrape(self) -> None:
        began = time.perf_counter()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            self.size = len(answer.read())
        self.took_ms.append((time.perf_counter() - began) * 1000)

    def stop(self) -> None:
        self._stop.set()


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
    parser.add_argument("--rounds", type=int, default=6, help="with and without each")
    parser.add_argument("--seconds", type=float, default=10, help="of a round")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


def _measure(broker: Broker, http_port: int, args: argparse.Namespace) -> str:
    took_ms: list[float] = []
    costs: dict[bool, list[float]] = {False: [], True: []}
    size = 0
    with topic(broker, args.partitions) as held, topic(broker) as loaded:
        _fill(broker, held, args.partitions)
        for number in range(2 * args.rounds):
            is_scraped = bool(number % 2)
            scraper = Scraper(http_port)
            thread = threading.Thread(target=scraper.run)
            if is_scraped:
                thread.start()
            figures = measure(
                broker,
                RAW,
                "produce",
                topic=loaded,
                connections=CONNECTIONS,
                seconds=args.seconds,
            )
            if is_scraped:
                scraper.stop()
                thread.join()
                took_ms += scraper.took_ms
                size = scraper.size
            cost = figures["broker_cpu_s"] / figures["requests"] * 1e6
            costs[is_scraped].append(cost)
    without, with_scrapes = median(costs[False]), median(costs[True])
    rows = [
        ["CPU of a request, not scraped", f"{short(without)} µs"],
        ["the same, scraped every 5 s", f"{short(with_scrapes)} µs"],
        ["more", f"{(with_scrapes / without - 1) * 100:+.1f} %"],
        ["a scrape under full load, median", f"{short(median(took_ms))} ms"],
        ["the longest", f"{short(max(took_ms))} ms"],
        ["its size", f"{size / 1024:,.0f} KiB"],
    ]
    about = (
        f"{args.partitions:,} partitions with records, a group with an offset in each,"
        f" {CONNECTIONS} connections that produce; {args.rounds} rounds of"
        f" {args.seconds:g} s each way."
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
