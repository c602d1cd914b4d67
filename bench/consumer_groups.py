"""Measures groups whose partitions the broker assigns (KIP-848), beside Apache Kafka.

    python bench/consumer_groups.py
    python bench/consumer_groups.py --markdown docs/benchmarks.md --kafka KAFKA/libs

- joining: from connect to the first record, a group of one member each time, median:
  of bare requests, and of librdkafka from the making of its consumer.
- heartbeats: ``--groups`` groups of one member, a connection each; as fast as one
  driver asks, and every 5 s.
- gathering: ``--members`` members join one group of a topic with as many partitions;
  from the first request until every member has its share and nobody waits.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

import confluent_kafka  # noqa: E402
from computed_members import ComputedMember, first_record, joined  # noqa: E402
from side_by_side import Figures, compare  # noqa: E402
from targets import Broker  # noqa: E402
from work import topic  # noqa: E402

SECTION = "consumer groups"
BEAT_EVERY_S = 5.0


def joining(broker: Broker, args: argparse.Namespace) -> Figures:
    with topic(broker) as name:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.address})
        producer.produce(name, b"first")
        assert producer.flush(30) == 0
        raw = [
            _timed(lambda n=n: first_record(broker.port, f"bare-{name}-{n}", name))
            for n in range(args.joins)
        ]
        whole = [
            _timed(lambda n=n: _librdkafka(broker, name, n))
            for n in range(max(3, args.joins // 4))
        ]
    return {
        "first record, bare requests: ms": statistics.median(raw) * 1e3,
        "first record, librdkafka: ms": statistics.median(whole) * 1e3,
    }


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _librdkafka(broker: Broker, name: str, number: int) -> None:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": f"librdkafka-{name}-{number}",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([name])
    message = consumer.poll(30)
    assert message is not None
    assert message.error() is None
    consumer.close()


def heartbeats(broker: Broker, args: argparse.Namespace) -> Figures:
    with topic(broker) as name:
        prefix = f"beats-{name}"
        members = [
            joined(broker.port, f"{prefix}-{number}", name)
            for number in range(args.groups)
        ]
        time.sleep(0.5)
        fast, _ = _beating(broker, members, args.seconds, 0.0)
        slow, took = _beating(broker, members, args.seconds, BEAT_EVERY_S)
        for member in members:
            member.connection.close()
    every = f"{args.groups} groups of 1 beating every 5 s"
    return {
        "a heartbeat: broker CPU µs": fast * 1e6,
        f"{every}: broker, % of a core": slow * args.groups / BEAT_EVERY_S * 100,
        f"{every}: p99 ms": sorted(took)[len(took) * 99 // 100] * 1e3,
    }


def _beating(
    broker: Broker, members: list[ComputedMember], seconds: float, every_s: float
) -> tuple[float, list[float]]:
    """CPU seconds of the broker for each heartbeat, and how long answers took."""
    cpu, began = broker.cpu_seconds(), time.perf_counter()
    gap, took = every_s / len(members), []
    while time.perf_counter() - began < seconds:
        member = members[len(took) % len(members)]
        time.sleep(max(0.0, began + len(took) * gap - time.perf_counter()))
        took.append(_timed(member.beat))
    return (broker.cpu_seconds() - cpu) / len(took), took


def gathering(broker: Broker, args: argparse.Namespace) -> Figures:
    took, cpu = [], broker.cpu_seconds()
    for _ in range(args.rounds):
        with topic(broker, args.members) as name:
            took.append(_timed(lambda name=name: _gather(broker, args.members, name)))
    row = f"{args.members} members join until each has its share"
    return {
        f"{row}: s": statistics.median(took),
        f"{row}: broker CPU s": (broker.cpu_seconds() - cpu) / args.rounds,
    }


def _gather(broker: Broker, count: int, name: str) -> None:
    """Every member beats in turn, giving up what it has to, until all are even."""
    members = [joined(broker.port, f"gathering-{name}", name) for _ in range(count)]
    while any(len(member.owned) != 1 for member in members):
        for member in members:
            member.beat()
    for member in members:
        member.connection.close()


SCENARIOS = {each.__name__: each for each in (joining, heartbeats, gathering)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--joins", type=int, default=20)
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    compare(parser, SCENARIOS, SECTION)


if __name__ == "__main__":
    main()
