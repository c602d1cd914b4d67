"""``odradek bench``: measure how fast a broker writes and reads."""

from __future__ import annotations

import argparse
import secrets
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.client.cluster import Cluster
    from odradek.client.throughput import Measured

_COMMAND = "bench"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS = {"all": -1, "1": 1, "0": 0}
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_SETTLE_S = 10.0
_EXAMPLES = (
    "odradek bench",
    "odradek bench --records 5000000 --size 100 --partitions 6 -z lz4",
    "odradek bench --acks 1 --json --bootstrap-server kafka-1:9092",
    "odradek bench --topic load-test --keep",
)


def command(arguments: list[str]) -> int:
    """Measure how fast a broker writes and reads."""
    options = _parse(arguments)
    return run(_COMMAND, options, lambda cluster: _bench(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        _COMMAND,
        "Write records to a topic of its own, read them back, and say how fast that"
        " was. It measures the broker: batches are made once and sent many times.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--records",
        type=_positive,
        default=200_000,
        metavar="N",
        help="default: 200000",
    )
    parser.add_argument(
        "--size",
        type=_positive,
        default=1000,
        metavar="BYTES",
        help="of the value of a record (default: 1000)",
    )
    parser.add_argument(
        "--batch-size",
        type=_positive,
        default=128 << 10,
        metavar="BYTES",
        help="of a batch, before compression (default: 131072)",
    )
    parser.add_argument(
        "--partitions", type=_positive, default=1, metavar="N", help="default: 1"
    )
    parser.add_argument(
        "--in-flight",
        type=_positive,
        default=5,
        metavar="N",
        help="requests that may wait for their answer (default: 5)",
    )
    parser.add_argument(
        "-z", "--compression", choices=_CODECS, default="none", help="default: none"
    )
    parser.add_argument(
        "--acks", choices=tuple(_ACKS), default="all", help="default: all"
    )
    parser.add_argument(
        "--topic", metavar="NAME", help="a name for the topic, which must be new"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the topic there afterwards"
    )
    return parser.parse(arguments)


def _positive(text: str) -> int:
    number = count(text)
    if not number:
        raise argparse.ArgumentTypeError("it must be more than 0")
    return number


def _bench(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.throughput import Load, measure_consume, measure_produce
    from odradek.terminal.progress import Progress

    load = Load(
        options.records,
        options.size,
        options.batch_size,
        _CODECS.index(options.compression),
        _ACKS[options.acks],
        options.in_flight,
        options.timeout,
    )
    with _topic(cluster, options) as topic:
        for phase in "produce", "consume":
            progress = Progress()
            watch = partial(progress.flow, phase, total=options.records)
            if phase == "produce":
                measured = measure_produce(cluster, topic, load, watch)
                _wait_for_all(cluster, topic, measured.records_count, load.acks)
            else:
                measured = measure_consume(
                    cluster, topic, measured.records_count, watch
                )
            progress.end()
            _show(phase, measured, options.json)
    return 0


@contextmanager
def _topic(cluster: Cluster, options: argparse.Namespace) -> Iterator[str]:
    """A new topic whose leaders are known."""
    from odradek.client.topics import NewTopic, create_topic, delete_topic
    from odradek.protocol.errors import KafkaError

    name = options.topic or f"odradek-bench-{secrets.token_hex(4)}"
    create_topic(cluster, NewTopic(name, options.partitions))
    try:
        cluster.retry.run(
            lambda: _check_leaders(cluster, name, options.partitions),
            lambda error: isinstance(error, KafkaError),
            _SETTLE_S,
        )
        yield name
    finally:
        if not options.keep:
            delete_topic(cluster, name)


def _check_leaders(cluster: Cluster, name: str, partitions: int) -> None:
    from odradek.protocol.topic_partition import TopicPartition

    metadata = cluster.metadata([name])
    for number in range(partitions):
        metadata.leader_of(TopicPartition(name, number))


def _wait_for_all(cluster: Cluster, topic: str, count: int, acks: int) -> None:
    """What nobody has confirmed may still be on its way."""
    from odradek.client.list_offsets import LATEST, list_offsets
    from odradek.protocol.topic_partition import TopicPartition

    if acks == -1:
        return
    leaders = cluster.metadata([topic]).topics[topic].leaders
    wanted = {TopicPartition(topic, number): LATEST for number in leaders}
    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline:
        found = list_offsets(cluster, wanted).found.values()
        if sum(each.offset for each in found) >= count:
            return
        time.sleep(0.05)


def _show(phase: str, measured: Measured, is_json: bool) -> None:
    from odradek.terminal.progress import rates

    latencies = {
        name: measured.latency_ms(quantile) for name, quantile in _QUANTILES.items()
    }
    if is_json:
        print_json(_as_json(phase, measured, latencies))
        return
    times = ", ".join(
        f"{name} {value:.1f}" for name, value in latencies.items() if value is not None
    )
    speed = rates(measured.records_count, measured.size, measured.elapsed_s)
    print(f"{phase}: {speed}" + (f"; answers in ms: {times}" if times else ""))


def _as_json(
    phase: str, measured: Measured, latencies: dict[str, float | None]
) -> dict[str, Any]:
    return {
        "phase": phase,
        "records": measured.records_count,
        "bytes": measured.size,
        "seconds": round(measured.elapsed_s, 6),
        "recordsPerSecond": round(measured.records_count / measured.elapsed_s, 1),
        "bytesPerSecond": round(measured.size / measured.elapsed_s, 1),
        "answerMs": {
            name: None if value is None else round(value, 3)
            for name, value in latencies.items()
        },
    }
