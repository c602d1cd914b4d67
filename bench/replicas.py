"""Measures two replicas: odradek and Apache Kafka, each with two brokers of a kind.

    python bench/replicas.py --kafka KAFKA/libs --markdown docs/benchmarks.md

Every pair has a controller of Apache Kafka's to itself, and runs alone; pairs take
turns, ``--rounds`` times, and the median counts. All partitions are led by one broker,
and the other follows; acks=all, and min.insync.replicas is the number of replicas. The
same with one replica, of the same broker, stands beside it. At last a new replica is
made of a partition that has some megabytes. CPU is that of each broker; the controller
and the load are left out.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "parts"))

import bare_client  # noqa: E402
from quorum import (  # noqa: E402
    FOLLOWER,
    LEADER,
    Pair,
    kafka_pair,
    odradek_pair,
    running,
)
from tables import machine, replace_section, short, table  # noqa: E402
from targets import Target, compile_packages  # noqa: E402
from work import CLIENT, RAW, Figures, measure  # noqa: E402

SECTION = "replicas"
KIB, SMALL = 1024, 100
BATCH_RECORDS = 97
PARTITIONS = 12
CONNECTIONS = ((1, 1), (16, 1), (16, 8))  # and requests in flight on each
KAFKA_WARMS_UP_S = 10.0
NEW_TOPICS = 5
SETTLED_S = 1.0  # then followers wait for records of other topics
_numbers = itertools.count(1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kafka", type=Path, metavar="LIBS", required=True, help="its jars"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each load")
    parser.add_argument("--megabytes", type=int, default=500, help="of a new replica")
    parser.add_argument("--only", help="measure this broker alone")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    args = parser.parse_args()
    targets = [odradek_pair("none"), odradek_pair("commit"), kafka_pair(args.kafka)]
    targets = [each for each in targets if args.only in (None, each.name)]
    compile_packages()
    found: dict[str, dict[str, list[float]]] = {}
    for target in targets * args.rounds:
        for row, figure in _measure(target, args).items():
            print(target.name, row, short(figure), file=sys.stderr)
            found.setdefault(row, {}).setdefault(target.name, []).append(figure)
    text = _report(found, [each.name for each in targets])
    print(text)
    if args.markdown:
        head = f"{machine()} Median of {args.rounds} rounds."
        replace_section(args.markdown, SECTION, f"{head}\n\n{text}")


def _report(found: dict[str, dict[str, list[float]]], names: list[str]) -> str:
    """A row a figure; in brackets, how many times that of Apache Kafka."""
    rows = []
    for row, by_broker in found.items():
        medians = {name: statistics.median(each) for name, each in by_broker.items()}
        kafka = medians.get("Apache Kafka")
        rows.append(
            [
                row,
                *(
                    short(medians[name])
                    + (
                        f" ({short(medians[name] / kafka)})"
                        if kafka and name != "Apache Kafka"
                        else ""
                    )
                    for name in names
                ),
            ]
        )
    return table(["", *names], rows)


def _measure(target: Target, args: argparse.Namespace) -> Figures:
    """All figures of one pair, from its start to its end."""
    figures: Figures = {}
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root,
        running(target, args.kafka, Path(root)) as pair,
    ):
        if target.compiles_late:
            _requests(pair, (LEADER, FOLLOWER), KAFKA_WARMS_UP_S)
            _batches(pair, (LEADER, FOLLOWER), args.megabytes)
        for replicas in ((LEADER,), (LEADER, FOLLOWER)):
            figures |= _requests(pair, replicas, args.seconds)
            figures |= _batches(pair, replicas, args.megabytes)
        figures |= _new_topics(pair)
        figures |= _new_replica(pair, args.megabytes)
    return figures


def _requests(pair: Pair, replicas: Sequence[int], seconds: float) -> Figures:
    """One record of 100 bytes in each."""
    figures: Figures = {}
    with _topic(pair, replicas, PARTITIONS) as name:
        for connections, depth in CONNECTIONS:
            measured = measure(
                pair,
                RAW,
                "produce",
                topic=name,
                connections=connections,
                depth=depth,
                partitions=PARTITIONS,
                seconds=seconds,
            )
            row = _row(f"100 B, {connections} connections", replicas)
            row += f" x {depth} in flight" if depth > 1 else ""
            requests = measured["requests"]
            figures[f"{row}: requests/s"] = requests / measured["seconds"]
            figures |= _cpu(pair, row, "CPU µs", requests / 1e6, replicas)
            figures[f"{row}: p50 µs"] = measured["p50_us"]
            figures[f"{row}: p99 µs"] = measured["p99_us"]
    return figures


def _batches(pair: Pair, replicas: Sequence[int], megabytes: int) -> Figures:
    """librdkafka with the batches of the Java client."""
    count = int(megabytes * 1e6 / KIB)
    with _topic(pair, replicas, 1) as name:
        measured = measure(
            pair,
            CLIENT,
            "produce",
            topic=name,
            size=KIB,
            count=count,
            config=["acks=all", "linger.ms=5", "batch.size=16384"],
        )
    row = _row("1 KiB, 16 KB batches", replicas)
    gigabytes = count * KIB / 1e9
    return {
        f"{row}: MB/s": gigabytes * 1e3 / measured["seconds"],
        **_cpu(pair, row, "CPU s/GB", gigabytes, replicas),
    }


def _new_topics(pair: Pair) -> Figures:
    """From the first question who leads it to the first record that both have."""
    took = []
    for _ in range(NEW_TOPICS):
        time.sleep(SETTLED_S)
        with (
            bare_client.connect(pair.port) as connection,
            _topic(pair, (LEADER, FOLLOWER), PARTITIONS) as name,
        ):
            began = time.monotonic()
            bare_client.first_ack(connection, name, 0)
            took.append(time.monotonic() - began)
    row = "a new topic, 2 replicas: ms to its first record"
    return {row: statistics.median(took) * 1e3}


def _new_replica(pair: Pair, megabytes: int) -> Figures:
    """From the request to move until the new replica is in sync."""
    batches = int(megabytes * 1e6 / KIB / BATCH_RECORDS)
    with _topic(pair, (LEADER,), 1) as name:
        filled = {"records": BATCH_RECORDS, "size": KIB, "count": batches, "depth": 2}
        measure(pair, RAW, "produce", topic=name, **filled)
        pair.cpu_seconds()
        began = time.monotonic()
        pair.move(name, (LEADER, FOLLOWER))
        pair.wait_in_sync(name, (LEADER, FOLLOWER))
        seconds = time.monotonic() - began
        pair.cpu_seconds()
    gigabytes = batches * BATCH_RECORDS * KIB / 1e9
    return {
        "a new replica: MB/s": gigabytes * 1e3 / seconds,
        **_cpu(pair, "a new replica", "CPU s/GB", gigabytes, (LEADER, FOLLOWER)),
    }


def _row(what: str, replicas: Sequence[int]) -> str:
    return f"{what}, {len(replicas)} replica{'s' if len(replicas) > 1 else ''}"


def _cpu(
    pair: Pair, row: str, unit: str, units: float, replicas: Sequence[int]
) -> Figures:
    """Of the leader; and of the follower, if there is one."""
    spent = zip(("leader", "follower"), pair.spent(), strict=True)
    return {
        f"{row}: {role} {unit}": seconds / units
        for role, seconds in list(spent)[: len(replicas)]
    }


@contextmanager
def _topic(pair: Pair, replicas: Sequence[int], partitions: int) -> Iterator[str]:
    name = f"bench-{next(_numbers)}"
    pair.make_topic(name, replicas, partitions)
    try:
        yield name
    finally:
        pair.delete_topic(name)


if __name__ == "__main__":
    main()
