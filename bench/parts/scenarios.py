"""What is measured of a running broker. A scenario returns {row: figure}.

The names of rows end with their unit. 1 GB is 10^9 bytes of record values.
"""

from collections.abc import Callable

from sizes import Size
from targets import Broker
from work import CLIENT, RAW, STREAM, Figures, measure, topic

KIB = 1024
SMALL = 100  # bytes of a record of which many make a batch


def tiny(broker: Broker, size: Size) -> Figures:
    """One record of 100 bytes a request, acks=all; fetches of one of 1 KiB."""
    figures: Figures = {}
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
    like_java = ["batch.size=16384"]
    small = int(
        size.megabytes * 1e6 / SMALL / 4
    )  # it takes the client ten times as long
    figures: Figures = {}
    for row, record_size, count, partitions, config in (
        ("1 KiB, 16 KB batches", KIB, size.records, 1, like_java),
        ("1 KiB, default batches", KIB, size.records, 1, []),
        ("100 B, 16 KB batches, 12 partitions", SMALL, small, 12, like_java),
    ):
        with topic(broker, partitions) as name:
            measured = measure(
                broker,
                CLIENT,
                "produce",
                topic=name,
                size=record_size,
                count=count,
                partitions=partitions,
                config=["acks=all", "linger.ms=5", *config],
            )
        figures |= _per_byte(f"produce {row}", measured, record_size)
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
    return _per_byte("consume 1 KiB", measured, KIB)


def synced(broker: Broker, size: Size) -> Figures:
    """On the disk before the answer: the topic has flush.messages=1."""
    figures: Figures = {}
    for connections, depth, partitions in (
        (1, 1, 1),
        (64, 1, 1),
        (64, 1, 12),
        (16, 8, 1),
    ):
        with topic(broker, partitions, flush_messages="1") as name:
            measured = measure(
                broker,
                RAW,
                "produce",
                topic=name,
                connections=connections,
                depth=depth,
                partitions=partitions,
                seconds=size.seconds,
            )
        row = f"synced 100 B, {connections} connections"
        row += f" x {depth} in flight" if depth > 1 else ""
        row += f", {partitions} partitions" if partitions > 1 else ""
        figures |= _per_request(row, measured)
    return figures


def latency(broker: Broker, size: Size) -> Figures:
    """From send to receipt: 5 records of 100 bytes every millisecond, one consumer."""
    with topic(broker) as name:
        measured = measure(
            broker,
            STREAM,
            "stream",
            topic=name,
            records=5,
            interval_ms=1,
            seconds=size.seconds * 2,
        )
    return _streamed("5,000 records/s, send to receipt", measured)


def fanout(broker: Broker, size: Size) -> Figures:
    """10 MB/s in, in batches of 100 KB, and fifty times that out."""
    consumers = 50
    with topic(broker) as name:
        measured = measure(
            broker,
            STREAM,
            "stream",
            topic=name,
            consumers=consumers,
            records=100,
            size=KIB,
            interval_ms=10,
            seconds=size.seconds * 2,
        )
    return _streamed(f"10 MB/s to {consumers} consumers", measured)


def warm_up(broker: Broker, size: Size) -> Figures:
    """Let a compiler that works while it runs see everything first."""
    for scenario in (tiny, produce, consume, latency, fanout):
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


def _per_byte(row: str, measured: Figures, record_size: int) -> Figures:
    gigabytes = measured["messages"] * record_size / 1e9
    return {
        f"{row}: MB/s": gigabytes * 1e3 / measured["seconds"],
        f"{row}: broker CPU s/GB": measured["broker_cpu_s"] / gigabytes,
    }


def _streamed(row: str, measured: Figures) -> Figures:
    # Not of the time it took, which is longer where receivers cannot follow.
    share = measured["broker_cpu_s"] / measured["offered_seconds"]
    return {
        f"{row}: p50 ms": measured["p50_us"] / 1e3,
        f"{row}: p99 ms": measured["p99_us"] / 1e3,
        f"{row}: broker, % of a core": share * 100,
    }


RUNNING: dict[str, Callable[[Broker, Size], Figures]] = {
    "tiny": tiny,
    "produce": produce,
    "consume": consume,
    "latency": latency,
    "synced": synced,
    "fanout": fanout,
}
