"""Measures what a broker needs for each partition, topic, producer and group.

    python bench/sizing.py --cases partitions,producers
    python bench/sizing.py --markdown docs/howto/sizing.md

Every case has a broker of its own, whose memory, open files and data directory are
compared before and after. Takes half a minute.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from bare_client import connect, create_topic, produce_to_each  # noqa: E402
from tables import machine, replace_section, table  # noqa: E402
from targets import Broker, odradek  # noqa: E402

from odradek.client.connection import Connection  # noqa: E402
from odradek.protocol.messages.groups import (  # noqa: E402
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.offsets import (  # noqa: E402
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.produce import (  # noqa: E402
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch  # noqa: E402

SECTION = "sizing"
PARTITIONS, TOPICS = 2000, 1000
PRODUCERS, OFFSETS = 20_000, 10_000
SETTLED_S = 2.0
COORDINATOR_VERSION, COMMIT_VERSION, PRODUCE_VERSION = 4, 9, 9


def partitions(connection: Connection) -> int:
    """partition with a record"""
    create_topic(connection, "t", PARTITIONS)
    produce_to_each(connection, "t", PARTITIONS)
    return PARTITIONS


def empty_partitions(connection: Connection) -> int:
    """partition to which nothing was written"""
    create_topic(connection, "t", PARTITIONS)
    return PARTITIONS


def topics(connection: Connection) -> int:
    """topic of one partition with a record"""
    for number in range(TOPICS):
        create_topic(connection, f"t-{number}", 1)
        produce_to_each(connection, f"t-{number}", 1)
    return TOPICS


def producers(connection: Connection) -> int:
    """idempotent producer that a partition remembers"""
    create_topic(connection, "t", 1)
    for number in range(PRODUCERS):
        batch = build_batch(
            [NewRecord(None, b"x" * 100, 1)],
            producer_id=number,
            producer_epoch=0,
            base_sequence=0,
        )
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(name="t", partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=9000, topic_data=[topic])
        answer = connection.request(request, ProduceResponse, PRODUCE_VERSION)
        (told,) = answer.responses[0].partition_responses
        assert not told.error_code, told
    return PRODUCERS


def offsets(connection: Connection) -> int:
    """group with one committed offset"""
    create_topic(connection, "t", 1)
    while True:  # until its topic is there
        asked = FindCoordinatorRequest(coordinator_keys=["group-0"])
        answer = connection.request(asked, FindCoordinatorResponse, COORDINATOR_VERSION)
        if not answer.coordinators[0].error_code:
            break
        time.sleep(0.1)
    for number in range(OFFSETS):
        place = OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
        topic = OffsetCommitRequestTopic(name="t", partitions=[place])
        request = OffsetCommitRequest(group_id=f"group-{number}", topics=[topic])
        told = connection.request(request, OffsetCommitResponse, COMMIT_VERSION)
        assert not told.topics[0].partitions[0].error_code, told
    return OFFSETS


CASES: dict[str, Callable[[Connection], int]] = {
    each.__name__: each
    for each in (partitions, empty_partitions, topics, producers, offsets)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    parser.add_argument("--dir", help="where data goes")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for name in args.cases.split(","):
            rows.append(measured(name, Path(root)))
            print(" | ".join(rows[-1]), file=sys.stderr)
    heads = [
        "for each",
        "measured with",
        "memory, bytes",
        "open files",
        "files",
        "disk",
    ]
    text = table(heads, rows)
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def measured(name: str, root: Path) -> list[str]:
    case, broker = CASES[name], Broker(odradek("none"), root)
    broker.start()
    try:
        with connect(broker.port) as connection:
            time.sleep(SETTLED_S)
            before = state(broker)
            count = case(connection)
            time.sleep(SETTLED_S)
            after = state(broker)
    finally:
        broker.remove()
    memory, opened, files, disk = (
        (late - early) / count for early, late in zip(before, after, strict=True)
    )
    each = f"{memory:,.0f}", f"{opened:.1f}", f"{files:.1f}", f"{disk:,.0f}"
    return [case.__doc__ or name, f"{count:,}", *each]


def state(broker: Broker) -> tuple[int, int, int, int]:
    """Resident memory, open files; in the data directory files, and bytes they take."""
    opened = len(os.listdir(f"/proc/{broker.pid}/fd"))
    found = [path.stat() for path in broker.data_dir.rglob("*") if path.is_file()]
    return (
        broker.memory_bytes(),
        opened,
        len(found),
        sum(x.st_blocks for x in found) * 512,
    )


if __name__ == "__main__":
    main()
