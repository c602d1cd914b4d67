"""A load process on bare sockets: prebuilt requests, as cheap as Python can.

Each connection keeps ``--depth`` requests in flight. What is measured is the
broker, so this does no more than count the answers, look at their error codes and
take the time. Started by ``work``: prints "ready", waits for a line, works, prints
its figures as JSON. ``--security`` are the options of a client.
"""

import argparse
import json
import select
import socket
import ssl
import sys
import time
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch

PRODUCE_VERSION = 9
FETCH_VERSION = 12
LIST_OFFSETS_VERSION = 6
RECEIVE_SIZE = 256 << 10

_LENGTH = Struct(">i")
_ERROR = Struct(">h")

Next = Callable[[int], bytes | bytearray]  # so many requests in one buffer


class Link:
    """One connection: what is in flight on it, and the answer that is not whole."""

    def __init__(
        self,
        port: int,
        next_requests: Next,
        error_positions: list[int],
        security: dict[str, str] | None = None,
    ) -> None:
        self.socket = _connect(port, security or {})
        self.next_requests = next_requests
        self.sent_ns: deque[int] = deque()
        self.took_ns: list[int] = []
        self.received_bytes = 0
        self._error_positions = error_positions
        self._rest = b""

    def send(self, count: int, now_ns: int) -> None:
        self.sent_ns.extend([now_ns] * count)
        self.socket.sendall(self.next_requests(count))

    @property
    def has_more(self) -> bool:
        """Whether TLS has data that the descriptor does not tell of."""
        sock = self.socket
        return isinstance(sock, ssl.SSLSocket) and sock.pending() > 0

    def receive(self, buffer: memoryview, now: Callable[[], int]) -> int:
        """Take what is there; how many answers that completed."""
        count = self.socket.recv_into(buffer)
        if not count:
            raise SystemExit("the broker closed a connection")
        now_ns = now()
        self.received_bytes += count
        data: bytes | memoryview = buffer[:count]
        if self._rest:
            data = self._rest + bytes(data)
        position, end, answers = 0, len(data), 0
        while end - position >= 4:
            (size,) = _LENGTH.unpack_from(data, position)
            if position + 4 + size > end:
                break
            for at in self._error_positions:
                (code,) = _ERROR.unpack_from(data, position + 4 + at)
                if code:
                    raise SystemExit(f"the broker answered error code {code}")
            position += 4 + size
            answers += 1
            self.took_ns.append(now_ns - self.sent_ns.popleft())
        self._rest = bytes(data[position:])
        return answers


def _connect(port: int, options: dict[str, str]) -> socket.socket:
    """A connection; with options of TLS or SASL, one that has logged in."""
    if options:
        from odradek.client.connection import Connection
        from odradek.client.security.options import read_security

        made = Connection("127.0.0.1", port, security=read_security(options))
        sock = made._socket
        sock.settimeout(None)
    else:
        sock = socket.create_connection(("127.0.0.1", port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def drive(links: list[Link], depth: int, count: int, seconds: float) -> dict[str, Any]:
    """Keep ``depth`` in flight until ``count`` are sent or ``seconds`` are over."""
    now = time.perf_counter_ns
    poll = select.epoll()
    by_number = {link.socket.fileno(): link for link in links}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    buffer = memoryview(bytearray(RECEIVE_SIZE))
    left = count or sys.maxsize
    began, cpu = now(), time.process_time()
    deadline = began + int(seconds * 1e9) if not count else 1 << 63
    waiting = 0
    for link in links:
        burst = min(depth, left)
        left -= burst
        waiting += burst
        if burst:
            link.send(burst, now())
    while waiting:
        for number, _ in poll.poll():
            link = by_number[number]
            answers = link.receive(buffer, now)
            while link.has_more:
                answers += link.receive(buffer, now)
            waiting -= answers
            now_ns = now()
            more = min(answers, left) if now_ns < deadline else 0
            if more:
                left -= more
                waiting += more
                link.send(more, now_ns)
    elapsed = (now() - began) / 1e9
    return _figures(links, elapsed) | {"client_cpu_s": time.process_time() - cpu}


def _figures(links: list[Link], elapsed: float) -> dict[str, Any]:
    took = sorted(each for link in links for each in link.took_ns)
    return {
        "seconds": elapsed,
        "requests": len(took),
        "bytes": sum(link.received_bytes for link in links),
        "p50_us": took[len(took) // 2] / 1e3,
        "p99_us": took[len(took) * 99 // 100] / 1e3,
    }


def produce_links(args: argparse.Namespace) -> list[Link]:
    """Connections that send equal batches, each to one of the partitions."""
    errors = [4 + 1 + 1 + 1 + len(args.topic) + 1 + 4]
    value = bytes(index * 31 & 0xFF for index in range(args.size))
    now_ms = time.time_ns() // 1_000_000
    batch = build_batch([NewRecord(None, value, now_ms)] * args.records)
    links = []
    for place in range(args.connections):
        data = PartitionProduceData(index=place % args.partitions, records=batch)
        topic = TopicProduceData(name=args.topic, partition_data=[data])
        request = ProduceRequest(acks=args.acks, timeout_ms=30_000, topic_data=[topic])
        frame = encode_request(request, PRODUCE_VERSION, 1, "load")
        bursts = [frame * count for count in range(args.depth + 1)]
        links.append(Link(args.port, bursts.__getitem__, errors, args.security))
    return links


def fetch_links(args: argparse.Namespace) -> list[Link]:
    """Connections that read a few records each time, from one offset after another."""
    errors = [5 + 4, 5 + 4 + 2 + 4 + 1 + 1 + len(args.topic) + 1 + 4]
    frames = [_fetch_frame(args, offset) for offset in range(args.offsets)]
    links = []
    for place in range(args.connections):
        turn = iter(range(place, sys.maxsize))

        def next_requests(count: int, turn: Any = turn) -> bytes:
            picked = [frames[next(turn) % len(frames)] for _ in range(count)]
            return picked[0] if count == 1 else b"".join(picked)

        links.append(Link(args.port, next_requests, errors, args.security))
    return links


def _fetch_frame(args: argparse.Namespace, offset: int) -> bytes:
    partition = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=args.size
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=args.size,
        topics=[FetchTopic(topic=args.topic, partitions=[partition])],
    )
    return encode_request(request, FETCH_VERSION, 1, "load")


def wait_for_leaders(args: argparse.Namespace) -> None:
    """A topic may be there a while before its partitions can be used."""
    security = vars(args).get("security")
    for partition in range(args.partitions):
        asked = ListOffsetsPartition(partition_index=partition, timestamp=-1)
        topic = ListOffsetsTopic(name=args.topic, partitions=[asked])
        request = ListOffsetsRequest(replica_id=-1, topics=[topic])
        frame = encode_request(request, LIST_OFFSETS_VERSION, 1, "load")
        error = 4 + 1 + 4 + 1 + 1 + len(args.topic) + 1 + 4
        for _ in range(1000):
            link = Link(args.port, lambda _, frame=frame: frame, [], security)
            link.send(1, 0)
            answer = link.socket.recv(4096)
            link.socket.close()
            if _ERROR.unpack_from(answer, 4 + error) == (0,):
                break
            time.sleep(0.01)
        else:
            raise SystemExit(f"partition {partition} has no leader")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["produce", "fetch"])
    parser.add_argument("--port", type=int)
    parser.add_argument("--topic")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--acks", type=int, default=-1)
    parser.add_argument("--records", type=int, default=1)
    parser.add_argument("--size", type=int, default=100, help="of a record")
    parser.add_argument("--offsets", type=int, default=1, help="to fetch from")
    parser.add_argument("--count", type=int, default=0, help="requests, else --seconds")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--security", type=json.loads, default={}, help="in JSON")
    args = parser.parse_args()
    wait_for_leaders(args)
    links = {"produce": produce_links, "fetch": fetch_links}[args.work](args)
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(drive(links, args.depth, args.count, args.seconds)), flush=True)


if __name__ == "__main__":
    main()
