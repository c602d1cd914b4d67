"""Measures consumer groups: joining, heartbeats, commits, and loading at start.

    python bench/groups.py
    python bench/groups.py --scenarios commits,loading --kafka KAFKA/libs
    python bench/groups.py --markdown docs/benchmarks.md --kafka KAFKA/libs

- joining: from connect to the first record, a group of one member each time, median:
  of bare requests, and of librdkafka from the making of its consumer.
- heartbeats: ``--groups`` groups of two members, a connection each, every 3 s.
- commits: 50 connections, each the member of a group; one partition a commit.
- loading: ``--offsets`` offsets, 10 a commit, of 50 groups; the broker is killed and
  started; from its first answer until every group has its offsets, while somebody
  produces to another topic.
"""

import argparse
import signal
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

import confluent_kafka  # noqa: E402
from group_members import Member, alone, pair  # noqa: E402
from producing import producing  # noqa: E402
from raw_load import Link, drive  # noqa: E402
from side_by_side import Figures, compare  # noqa: E402
from targets import Broker  # noqa: E402
from work import topic  # noqa: E402

from odradek.client.connection import Connection  # noqa: E402
from odradek.protocol.errors import ErrorCode  # noqa: E402
from odradek.protocol.messages.fetch import (  # noqa: E402
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.groups import HeartbeatResponse  # noqa: E402
from odradek.protocol.messages.offsets import (  # noqa: E402
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

SECTION = "groups"
WITH_NAMES = 9
FETCH_VERSION = 12
CONNECTIONS = 50
COMMITTED_TOGETHER = 10
BEAT_EVERY_S = 3.0


def joining(broker: Broker, args: argparse.Namespace) -> Figures:
    with topic(broker) as name:
        _produce(broker, name)
        raw = [_first_record(broker, name, n) for n in range(args.joins)]
        whole = [_librdkafka(broker, name, n) for n in range(max(3, args.joins // 4))]
    return {
        "first record, bare requests: ms": statistics.median(raw) * 1e3,
        "first record, librdkafka: ms": statistics.median(whole) * 1e3,
    }


def _produce(broker: Broker, name: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address})
    producer.produce(name, b"first")
    assert producer.flush(30) == 0


def _first_record(broker: Broker, name: str, number: int) -> float:
    began = time.perf_counter()
    member = alone(broker.port, f"bare-{name}-{number}")
    asked = OffsetFetchRequestTopics(name=name, partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=member.group, topics=[asked])]
    )
    connection = member.connection
    connection.request(request, OffsetFetchResponse, WITH_NAMES)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic=name, partitions=[partition])],
    )
    response = connection.request(fetch, FetchResponse, FETCH_VERSION)
    took = time.perf_counter() - began
    assert response.responses[0].partitions[0].records
    connection.close()
    return took


def _librdkafka(broker: Broker, name: str, number: int) -> float:
    began = time.perf_counter()
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": f"librdkafka-{name}-{number}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([name])
    message = consumer.poll(30)
    took = time.perf_counter() - began
    assert message is not None
    assert message.error() is None
    consumer.close()
    return took


def heartbeats(broker: Broker, args: argparse.Namespace) -> Figures:
    prefix = f"beats-{time.time_ns()}"
    members = [
        member
        for number in range(args.groups)
        for member in pair(broker.port, f"{prefix}-{number}")
    ]
    time.sleep(0.5)
    cpu, began, beats = broker.cpu_seconds(), time.perf_counter(), 0
    took = []
    gap = BEAT_EVERY_S / len(members)
    while time.perf_counter() - began < args.seconds:
        member = members[beats % len(members)]
        time.sleep(max(0.0, began + beats * gap - time.perf_counter()))
        asked = time.perf_counter()
        answer = member.connection.request(
            member.heartbeat_request(), HeartbeatResponse
        )
        took.append(time.perf_counter() - asked)
        assert not answer.error_code, answer
        beats += 1
    elapsed = time.perf_counter() - began
    used = broker.cpu_seconds() - cpu
    for member in members:
        member.connection.close()
    name = f"{args.groups} groups of 2 beating every 3 s"
    return {
        f"{name}: broker, % of a core": used / elapsed * 100,
        f"{name}: p99 ms": sorted(took)[len(took) * 99 // 100] * 1e3,
    }


def commits(broker: Broker, args: argparse.Namespace) -> Figures:
    with topic(broker) as name:
        links, members = _committing(broker, name, range(1))
        cpu = broker.cpu_seconds()
        figures = drive(links, 1, 0, args.seconds)
        cpu = broker.cpu_seconds() - cpu
        _close(links, members)
    rate = figures["requests"] / figures["seconds"]
    return {
        "commits, 50 connections: /s": rate,
        "commits, 50 connections: broker CPU µs": cpu / figures["requests"] * 1e6,
        "commits, 50 connections: p99 ms": figures["p99_us"] / 1e3,
    }


def _committing(
    broker: Broker, name: str, partitions: range
) -> tuple[list[Link], list[Member]]:
    """Connections that commit, and the members in whose name they do."""
    error = 4 + 1 + 4 + 1 + 1 + len(name) + 1 + 4
    errors = [error + 7 * place for place in range(len(partitions))]
    links, members = [], []
    for number in range(CONNECTIONS):
        member = alone(broker.port, f"committing-{name}-{number}")
        frame = member.commit_frame(name, partitions, number)
        bursts = [frame * count for count in range(9)]
        links.append(Link(broker.port, bursts.__getitem__, errors))
        members.append(member)
    return links, members


def _close(links: list[Link], members: list[Member]) -> None:
    for link in links:
        link.socket.close()
    for member in members:
        member.connection.close()


def loading(broker: Broker, args: argparse.Namespace) -> Figures:
    with topic(broker, COMMITTED_TOGETHER) as name, topic(broker) as other:
        _produce(broker, other)
        partitions = range(COMMITTED_TOGETHER)
        links, members = _committing(broker, name, partitions)
        drive(links, 8, args.offsets // COMMITTED_TOGETHER, 0)
        _close(links, members)
        broker.stop(signal.SIGKILL)
        broker.start()
        began, cpu = time.perf_counter(), broker.cpu_seconds()
        with producing(broker, other) as took:
            waits = [member.group for member in members]
            with Connection("127.0.0.1", broker.port) as connection:
                while waits:
                    if _is_loaded(connection, waits[-1]):
                        waits.pop()
                    else:
                        time.sleep(0.01)
            elapsed = time.perf_counter() - began
            cpu = broker.cpu_seconds() - cpu
        took.sort()
    name = f"{args.offsets:,} offsets loaded at start"
    return {
        f"{name}: s": elapsed,
        f"{name}: records/s": args.offsets / elapsed,
        f"{name}: broker CPU s": cpu,
        "produce meanwhile: p50 ms": took[len(took) // 2] * 1e3,
        "produce meanwhile: p99 ms": took[len(took) * 99 // 100] * 1e3,
    }


def _is_loaded(connection: Connection, group: str) -> bool:
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=None)]
    )
    response = connection.request(request, OffsetFetchResponse, WITH_NAMES)
    (found,) = response.groups
    later = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    if found.error_code in later:
        return False
    assert not found.error_code, found
    assert len(found.topics[0].partitions) == COMMITTED_TOGETHER, group
    return True


SCENARIOS = {each.__name__: each for each in (joining, heartbeats, commits, loading)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--joins", type=int, default=20)
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--offsets", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10)
    compare(parser, SCENARIOS, SECTION)


if __name__ == "__main__":
    main()
