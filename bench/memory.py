"""Measures what a broker holds for clients that read cold, break off, or do not read.

    python bench/memory.py --cases cold,broken
    python bench/memory.py --markdown docs/benchmarks.md
    python bench/memory.py --command 'other --port {port} --data-dir {data_dir}'

Every case has a broker of its own, and tells its resident memory before and after, and
the most in between. The page cache is told to forget the segments before each cold
fetch; where a file system does not, the case says nothing. Takes a minute or two.
"""

import argparse
import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from bare_client import connect, create_topic  # noqa: E402
from tables import machine, replace_section, table  # noqa: E402
from targets import ASK_VERSIONS, Broker, Target, odradek  # noqa: E402

from odradek.protocol.headers import decode_response, encode_request  # noqa: E402
from odradek.protocol.messages.fetch import (  # noqa: E402
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.produce import (  # noqa: E402
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.record_batch import scan  # noqa: E402
from odradek.protocol.records import NewRecord, build_batch  # noqa: E402

SECTION = "memory"
PARTITIONS, BATCHES, BATCH_SIZE = 8, 5, 1_020_000
COLD_ROUNDS = 12
BROKEN, BROKEN_SIZE = 40, 20_000_000
OLD, OLD_SIZE = 8, 30_000_000
YOUNG = 3000  # connections that come and go meanwhile
SILENT, CROWD = 15, 200
TRUSTED, TRUSTED_SIZE = 6, 95_000_000
FETCH_VERSION, PRODUCE_VERSION = 11, 9
HEAD = struct.Struct(">i")
SETTLED_S = 2.0


class Watched:
    """A broker, and the most memory it was seen with."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.before = self.most = self.memory()

    def memory(self) -> int:
        return self.broker.memory_bytes()

    def look(self) -> None:
        self.most = max(self.most, self.memory())

    def look_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(0.1)


def fill(broker: Broker) -> None:
    """41 MB in a topic of eight partitions."""
    with connect(broker.port) as connection:
        create_topic(connection, "t", PARTITIONS)
        time.sleep(0.5)
        batch = build_batch([NewRecord(None, os.urandom(BATCH_SIZE), 1)])
        for _ in range(BATCHES):
            for partition in range(PARTITIONS):
                data = PartitionProduceData(index=partition, records=batch)
                topic = TopicProduceData(name="t", partition_data=[data])
                request = ProduceRequest(acks=-1, timeout_ms=9000, topic_data=[topic])
                answer = connection.request(request, ProduceResponse, PRODUCE_VERSION)
                (told,) = answer.responses[0].partition_responses
                assert not told.error_code, told


def fetch_request(offsets: list[int]) -> bytes:
    partitions = [
        FetchPartition(
            partition=each, fetch_offset=offsets[each], partition_max_bytes=6 << 20
        )
        for each in range(PARTITIONS)
    ]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=55 << 20,
        topics=[FetchTopic(topic="t", partitions=partitions)],
    )
    return bytes(encode_request(request, FETCH_VERSION, 7, "bench"))


def read_frame(link: socket.socket) -> bytearray:
    head = link.recv(4, socket.MSG_WAITALL)
    (size,) = HEAD.unpack(head)
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        got += link.recv_into(view[got:])
    return data


def consume_all(link: socket.socket) -> tuple[int, int]:
    """Read the topic to its end; how many answers that took, and their bytes."""
    offsets, count, size = [0] * PARTITIONS, 0, 0
    while True:
        link.sendall(fetch_request(offsets))
        data = read_frame(link)
        _, response = decode_response(memoryview(data), FetchResponse, FETCH_VERSION)
        count, size, found = count + 1, size + len(data), False
        for each in response.responses[0].partitions:
            assert not each.error_code, each.error_code
            for _, header in scan(memoryview(each.records or b"")):
                offsets[each.partition_index] = header.next_offset
                found = True
        if not found:
            return count, size


def chill(broker: Broker) -> None:
    """Have the page cache forget the segments."""
    for path in broker.data_dir.rglob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def open_link(broker: Broker) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", broker.port), 60)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def ping(link: socket.socket) -> None:
    link.sendall(ASK_VERSIONS)
    read_frame(link)


def cold(watched: Watched) -> None:
    """12 times 41 MB of 8 partitions, cold, by a client that reads."""
    for _ in range(COLD_ROUNDS):
        chill(watched.broker)
        with open_link(watched.broker) as link:
            count, size = consume_all(link)
        watched.look()
        print(f"  {size / 1e6:.0f} MB in {count} answers", file=sys.stderr)


def broken(watched: Watched) -> None:
    """40 requests, one after the other, break off at 20 MB."""
    for _ in range(BROKEN):
        with open_link(watched.broker) as link:
            ping(link)
            link.sendall(HEAD.pack(90_000_000) + bytes(BROKEN_SIZE))
        watched.look()


def old(watched: Watched) -> None:
    """8 old connections break off at 30 MB, between 6,000 others."""
    links = [open_link(watched.broker) for _ in range(OLD)]
    for link in links:
        ping(link)
    for _ in range(YOUNG):
        with open_link(watched.broker) as young:
            ping(young)
    for link in links:
        link.sendall(HEAD.pack(90_000_000) + bytes(OLD_SIZE))
        watched.look()
        link.close()
        watched.look()
    for _ in range(YOUNG):
        with open_link(watched.broker) as young:
            ping(young)


def silent(watched: Watched, count: int = SILENT) -> None:
    """15 consumers ask for 41 MB each and read nothing."""
    links = [open_link(watched.broker) for _ in range(count)]
    for link in links:
        link.sendall(fetch_request([0] * PARTITIONS))
    watched.look_for(5)
    for link in links:
        link.close()


def crowd(watched: Watched) -> None:
    """200 consumers ask for 41 MB each and read nothing."""
    silent(watched, CROWD)


def trusted(watched: Watched) -> None:
    """6 connections that once sent 95 MB claim as much again, and send 9 bytes."""
    data = PartitionProduceData(index=0, records=bytes(TRUSTED_SIZE))
    topic = TopicProduceData(name="none", partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=9000, topic_data=[topic])
    frame = bytes(encode_request(request, PRODUCE_VERSION, 1, "bench"))
    links = []
    for _ in range(TRUSTED):
        links.append(link := open_link(watched.broker))
        link.sendall(frame)
        read_frame(link)
    time.sleep(SETTLED_S)
    watched.before = watched.most = watched.memory()
    for link in links:
        link.sendall(HEAD.pack(TRUSTED_SIZE) + bytes(5))
    watched.look_for(5)
    for link in links:
        link.close()


CASES: dict[str, Callable[[Watched], None]] = {
    each.__name__: each for each in (cold, broken, old, silent, crowd, trusted)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--command", help="of another broker")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    parser.add_argument("--dir", help="where data goes")
    args = parser.parse_args()
    target = Target("other", args.command) if args.command else odradek("none")
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for name in args.cases.split(","):
            rows.append(measured(name, target, Path(root)))
            print(" ".join(rows[-1]), file=sys.stderr)
    text = table(["", "before", "most", "after"], rows)
    print(text)
    if args.markdown:
        head = f"{machine()} Resident memory of the broker, in MB."
        replace_section(args.markdown, SECTION, f"{head}\n\n{text}")


def measured(name: str, target: Target, root: Path) -> list[str]:
    case, broker = CASES[name], Broker(target, root)
    broker.start()
    try:
        if case in (cold, silent, crowd):
            fill(broker)
        time.sleep(SETTLED_S)
        watched = Watched(broker)
        case(watched)
        time.sleep(SETTLED_S)
        watched.look()
        sizes = (watched.before, watched.most, watched.memory())
    finally:
        broker.remove()
    what = (case.__doc__ or name).rstrip(".")
    return [what, *(f"{size / 1e6:.0f}" for size in sizes)]


if __name__ == "__main__":
    main()
