"""What is measured of a broker. A scenario returns {row: figure}.

The names of rows end with their unit. 1 GB is 10^9 bytes of record values.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from targets import Broker, Target
from work import CLIENT, RAW, Figures, measure, topic

KIB = 1024


@dataclass(frozen=True)
class Size:
    seconds: float = 2.0  # of each load that is bound by time
    megabytes: int = 200  # of each load that is bound by bytes


QUICK = Size(seconds=0.7, megabytes=60)


def startup(target: Target, root: Path) -> Figures:
    """On an empty directory."""
    broker = Broker(target, root)
    try:
        figures = {"start to first answer, s": broker.start()}
        time.sleep(1)
        figures["RSS when ready, MB"] = broker.memory_bytes() / 1e6
        figures["clean stop, s"] = broker.stop()
    finally:
        broker.remove()
    return figures


def tiny(broker: Broker, size: Size) -> Figures:
    """One record of 100 bytes a request, acks=all; fetches of one of 1 KiB."""
    figures = {}
    with topic(broker, 12) as name:
        for connections, depth in ((1, 1), (16, 1), (16, 8)):
            measured = measure(
                broker,
                RAW,
                "produce",
                topic=name,
                connections=connections,
                depth=depth,
                partitions=12,
                seconds=size.seconds,
            )
            row = f"produce 100 B, {connections} connections"
            row += f" x {depth} in flight" if depth > 1 else ""
            figures |= _per_request(row, measured)
    return figures | _tiny_fetch(broker, size)


def _tiny_fetch(broker: Broker, size: Size) -> Figures:
    offsets = 1000
    with topic(broker) as name:
        measure(broker, RAW, "produce", topic=name, count=offsets, size=KIB)
        measured = measure(
            broker,
            RAW,
            "fetch",
            topic=name,
            connections=16,
            offsets=offsets,
            size=KIB,
            seconds=size.seconds,
        )
    return _per_request("fetch 1 KiB, 16 connections", measured)


def produce(broker: Broker, size: Size) -> Figures:
    """librdkafka, acks=all: batches like the Java client's, and its own."""
    batches = {"16 KB batches": ["batch.size=16384"], "default batches": []}
    figures = {}
    for label, config in batches.items():
        with topic(broker) as name:
            measured = measure(
                broker,
                CLIENT,
                "produce",
                topic=name,
                size=KIB,
                count=int(size.megabytes * 1e6 / KIB),
                config=["acks=all", "linger.ms=5", *config],
            )
        figures |= _per_byte(f"produce 1 KiB, {label}", measured)
    return figures


def consume(broker: Broker, size: Size) -> Figures:
    """librdkafka from offset 0 on, batches of 100 KB."""
    records = 97
    batches = int(size.megabytes * 1e6 / KIB / records)
    with topic(broker) as name:
        filled = {"records": records, "size": KIB, "count": batches, "depth": 2}
        measure(broker, RAW, "produce", topic=name, **filled)
        count = batches * records
        measured = measure(broker, CLIENT, "consume", topic=name, count=count)
    return _per_byte("consume 1 KiB", measured)


def synced(broker: Broker, size: Size) -> Figures:
    """On the disk before the answer: the topic has flush.messages=1."""
    figures = {}
    for connections, depth in ((1, 1), (64, 1), (16, 8)):
        with topic(broker, flush_messages="1") as name:
            measured = measure(
                broker,
                RAW,
                "produce",
                topic=name,
                connections=connections,
                depth=depth,
                seconds=size.seconds,
            )
        row = f"synced 100 B, {connections} connections"
        row += f" x {depth} in flight" if depth > 1 else ""
        figures |= _per_request(row, measured)
    return figures


def warm_up(broker: Broker, size: Size) -> Figures:
    """Let a compiler that works while it runs see everything first."""
    for scenario in (tiny, produce, consume):
        scenario(broker, size)
    return {}


def _per_request(row: str, measured: Figures) -> Figures:
    requests = measured["requests"]
    return {
        f"{row}: requests/s": requests / measured["seconds"],
        f"{row}: broker CPU µs": measured["broker_cpu_s"] / requests * 1e6,
        f"{row}: p50 µs": measured["p50_us"],
        f"{row}: p99 µs": measured["p99_us"],
    }


def _per_byte(row: str, measured: Figures) -> Figures:
    gigabytes = measured["messages"] * KIB / 1e9
    return {
        f"{row}: MB/s": gigabytes * 1e3 / measured["seconds"],
        f"{row}: broker CPU s/GB": measured["broker_cpu_s"] / gigabytes,
    }


RUNNING: dict[str, Callable[[Broker, Size], Figures]] = {
    "tiny": tiny,
    "produce": produce,
    "consume": consume,
    "synced": synced,
}
NAMES = ("startup", *RUNNING)
