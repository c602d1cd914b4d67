"""A load process of records on their way: a producer, and consumers that long-poll.

Every ``--interval-ms`` a batch is sent that says when, whether or not the one before
has been answered; ``--consumers`` connections wait in a fetch for the end of the same
partition. What is measured is the time from that moment until a consumer has the whole
batch. One process does both, so that one clock does. Started by ``work``: prints
"ready", waits for a line, works, prints its figures as JSON.
"""

import argparse
import json
import select
import socket
import sys
import time
from struct import Struct
from typing import Any

from raw_load import FETCH_VERSION, PRODUCE_VERSION, Link, wait_for_leaders

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.record_batch import restamp_crc
from odradek.protocol.records import NewRecord, build_batch

WAIT_MS = 500
BYTES_MAX = 1 << 20  # what consumers ask of a partition by default
LATE_SECONDS_MAX = 10
UNSTAMPED = bytes(range(1, 9))  # the first bytes of a batch's first value

_INT16, _INT32, _INT64 = Struct(">h"), Struct(">i"), Struct(">q")
_LENGTH_AT, _LAST_DELTA_AT, _HEADER_SIZE = 8, 23, 61


class Sender:
    """The producer: one request, stamped anew each time."""

    def __init__(self, args: argparse.Namespace) -> None:
        value = UNSTAMPED + bytes(index * 31 & 0xFF for index in range(args.size - 8))
        now_ms = time.time_ns() // 1_000_000
        batch = build_batch([NewRecord(None, value, now_ms)] * args.records)
        self.stamp_at = batch.index(UNSTAMPED, _HEADER_SIZE)
        self.batch_size = len(batch)
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(name=args.topic, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
        self._frame = bytearray(encode_request(request, PRODUCE_VERSION, 1, "load"))
        begin = self._frame.index(batch)
        self._batch = memoryview(self._frame)[begin : begin + len(batch)]
        errors = [4 + 1 + 1 + 1 + len(args.topic) + 1 + 4]
        self._link = Link(args.port, lambda _: self._frame, errors)
        self._into = memoryview(bytearray(1 << 16))
        self.socket = self._link.socket
        self.took_ns = self._link.took_ns

    def send(self) -> None:
        now_ns = time.monotonic_ns()
        _INT64.pack_into(self._batch, self.stamp_at, now_ns)
        restamp_crc(self._batch)
        self._link.send(1, now_ns)

    def receive(self) -> None:
        self._link.receive(self._into, time.monotonic_ns)


class Receiver:
    """A consumer: a fetch that waits for the next batch, again and again."""

    def __init__(self, args: argparse.Namespace, stamp_at: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", args.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.took_ns: list[int] = []
        self._stamp_at = stamp_at
        self._frame, self._offset_at = _fetch_frame(args.topic)
        self._errors = [4 + 1 + 4, 4 + 1 + 4 + 2 + 4 + 1 + 1 + len(args.topic) + 1 + 4]
        # The error is followed by three offsets, no aborted transactions, a replica.
        self._records_at = self._errors[1] + 2 + 3 * 8 + 1 + 4
        self._offset = 0
        self._into = memoryview(bytearray(1 << 20))
        self._filled = 0

    def ask(self) -> None:
        _INT64.pack_into(self._frame, self._offset_at, self._offset)
        self.socket.sendall(self._frame)

    def receive(self) -> bool:
        """Take what is there; whether that was the rest of an answer."""
        count = self.socket.recv_into(self._into[self._filled :])
        if not count:
            raise SystemExit("the broker closed a connection")
        self._filled += count
        if self._filled < 4:
            return False
        size = 4 + _INT32.unpack_from(self._into)[0]
        if size > len(self._into):
            larger = memoryview(bytearray(size))
            larger[: self._filled] = self._into[: self._filled]
            self._into = larger
        if self._filled < size:
            return False
        self._filled = 0
        self._take(self._into[4:size])
        return True

    def _take(self, answer: memoryview) -> None:
        now_ns = time.monotonic_ns()
        for at in self._errors:
            (code,) = _INT16.unpack_from(answer, at)
            if code:
                raise SystemExit(f"the broker answered error code {code}")
        length, position = _varint(answer, self._records_at)
        end = position + length - 1
        while end - position > _HEADER_SIZE:
            (length,) = _INT32.unpack_from(answer, position + _LENGTH_AT)
            if position + 12 + length > end:
                break
            (sent_ns,) = _INT64.unpack_from(answer, position + self._stamp_at)
            self.took_ns.append(now_ns - sent_ns)
            (base,) = _INT64.unpack_from(answer, position)
            (delta,) = _INT32.unpack_from(answer, position + _LAST_DELTA_AT)
            self._offset = base + delta + 1
            position += 12 + length


def _fetch_frame(topic: str) -> tuple[bytearray, int]:
    """A request, and where in it the offset stands."""
    mark = 0x0102030405060708
    partition = FetchPartition(
        partition=0, fetch_offset=mark, partition_max_bytes=BYTES_MAX
    )
    request = FetchRequest(
        max_wait_ms=WAIT_MS,
        min_bytes=1,
        max_bytes=BYTES_MAX,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    frame = bytearray(encode_request(request, FETCH_VERSION, 1, "load"))
    return frame, frame.index(_INT64.pack(mark))


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned one, and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def stream(
    sender: Sender, receivers: list[Receiver], batches: int, interval_s: float
) -> dict[str, Any]:
    """Send so many batches in time, until all receivers have all of them."""
    by_socket = {each.socket: each for each in receivers}
    sockets = [sender.socket, *by_socket]
    for each in receivers:
        each.ask()
    sent, waiting = 0, len(receivers)
    began, cpu = time.monotonic(), time.process_time()
    deadline = began + batches * interval_s + LATE_SECONDS_MAX
    while waiting or len(sender.took_ns) < batches:
        now = time.monotonic()
        if sent < batches and now >= began + sent * interval_s:
            sender.send()
            sent += 1
            continue
        due = began + sent * interval_s if sent < batches else deadline
        if now > deadline:
            raise SystemExit(f"batches are missing on {waiting} connections")
        # Not epoll, which can only wait for whole milliseconds.
        for ready in select.select(sockets, (), (), max(0.0, due - now))[0]:
            if ready is sender.socket:
                sender.receive()
                continue
            receiver = by_socket[ready]
            if receiver.receive():
                if len(receiver.took_ns) < batches:
                    receiver.ask()
                else:
                    waiting -= 1
    elapsed = time.monotonic() - began
    took = sorted(ns for each in receivers for ns in each.took_ns)
    return {
        "seconds": elapsed,
        "offered_seconds": batches * interval_s,
        "client_cpu_s": time.process_time() - cpu,
        "bytes": len(took) * sender.batch_size,
        "p50_us": took[len(took) // 2] / 1e3,
        "p99_us": took[len(took) * 99 // 100] / 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["stream"])
    parser.add_argument("--port", type=int)
    parser.add_argument("--topic")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--records", type=int, default=1, help="of a batch")
    parser.add_argument("--size", type=int, default=100, help="of a record")
    parser.add_argument("--interval-ms", type=float, default=10, help="of batches")
    parser.add_argument("--seconds", type=float, default=1)
    args = parser.parse_args()
    wait_for_leaders(args)
    sender = Sender(args)
    receivers = [Receiver(args, sender.stamp_at) for _ in range(args.consumers)]
    interval_s = args.interval_ms / 1e3
    print("ready", flush=True)
    sys.stdin.readline()
    batches = max(1, round(args.seconds / interval_s))
    print(json.dumps(stream(sender, receivers, batches, interval_s)), flush=True)


if __name__ == "__main__":
    main()
