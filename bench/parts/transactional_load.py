"""A load process of transactional producers: each a connection, one request in flight.

`first` and `second` are the versions of the protocol on bare requests; `librdkafka`
is that library's producer, which speaks the first. Started by ``work``: prints
"ready", waits for a line, works, prints its figures as JSON.

A producer that is told CONCURRENT_TRANSACTIONS asks again after a millisecond; the
Java client would wait for 20 to 100.
"""

import argparse
import heapq
import json
import select
import socket
import sys
import time
from collections.abc import Generator
from struct import Struct
from typing import Any

from confluent_kafka import Producer
from raw_load import wait_for_leaders

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode, error_class
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.record_batch import pack_header, read_header, restamp_crc
from odradek.protocol.records import NewRecord, build_batch

ADD_VERSION = 3
PRODUCE_VERSIONS = {"first": 11, "second": 12}
END_VERSIONS = {"first": 4, "second": 5}
BACKOFF_S = 0.001
TRANSACTION = 1
PATIENCE_S = 30

_LENGTH = Struct(">i")
_ERROR = Struct(">h")
_AGAIN = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}

Frames = Generator[bytes, bytes, None]  # sent: requests; received: answers


class RawProducer:
    """One transactional id, on a connection and a partition of its own."""

    def __init__(self, args: argparse.Namespace, place: int) -> None:
        self.protocol = args.work
        self.transactional_id = f"{args.topic}-{args.work}-{time.time_ns()}-{place}"
        self.topic, self.partition = args.topic, place % args.partitions
        self.took_ns: list[int] = []
        self.asked_again = 0
        self.producer_id, self.epoch, self.sequence = -1, -1, 0
        value = bytes(index * 31 & 0xFF for index in range(args.size))
        now_ms = time.time_ns() // 1_000_000
        records = [NewRecord(None, value, now_ms)] * args.records
        self._batch = build_batch(records, producer_id=0, is_transactional=True)
        self._header = read_header(self._batch)
        with Connection("127.0.0.1", args.port) as connection:
            self._init(connection)
        self.socket = socket.create_connection(("127.0.0.1", args.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""
        self._add_frame = self._frame(self._add_request(), ADD_VERSION)
        self.frames = self._run()

    def _init(self, connection: Connection) -> None:
        find = FindCoordinatorRequest(
            key_type=TRANSACTION, coordinator_keys=[self.transactional_id]
        )
        init = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=60_000
        )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = connection.request(find, FindCoordinatorResponse, 4)
            code = found.coordinators[0].error_code
            if not code:
                answer = connection.request(init, InitProducerIdResponse, 4)
                code = answer.error_code
                if not code:
                    self.producer_id = answer.producer_id
                    self.epoch = answer.producer_epoch
                    return
            if code not in _AGAIN or time.monotonic() > deadline:
                raise error_class(code)
            time.sleep(0.05)

    def _frame(self, request: Any, version: int) -> bytes:
        return encode_request(request, version, 1, "load")

    def _add_request(self) -> AddPartitionsToTxnRequest:
        added = AddPartitionsToTxnTopic(name=self.topic, partitions=[self.partition])
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[added],
        )

    def _produce_frame(self) -> bytes:
        batch = self._batch
        header = self._header._replace(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
        )
        pack_header(batch, header)
        restamp_crc(batch)
        data = PartitionProduceData(index=self.partition, records=batch)
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[data])],
        )
        return self._frame(request, PRODUCE_VERSIONS[self.protocol])

    def _end_frame(self) -> bytes:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=True,
        )
        return self._frame(request, END_VERSIONS[self.protocol])

    def _run(self) -> Frames:
        """One transaction after another, for ever."""
        name = len(self.topic)
        added_at = 4 + 1 + 4 + 1 + 1 + name + 1 + 4
        produced_at = 4 + 1 + 1 + 1 + name + 1 + 4
        end_version = END_VERSIONS[self.protocol]
        while True:
            began = time.perf_counter_ns()
            if self.protocol == "first":
                yield from self._ask(self._add_frame, added_at)
            yield from self._ask(self._produce_frame(), produced_at)
            self.sequence = (self.sequence + self._header.records_count) & 0x7FFFFFFF
            answer = yield from self._ask(self._end_frame(), 4 + 1 + 4)
            if self.protocol == "second":
                ended = decode_response(answer, EndTxnResponse, end_version)[1]
                self.producer_id, self.epoch = ended.producer_id, ended.producer_epoch
                self.sequence = 0
            self.took_ns.append(time.perf_counter_ns() - began)

    def _ask(self, frame: bytes, error_at: int) -> Generator[bytes, bytes, bytes]:
        """The answer in which there is no error; the empty frame stands for a pause."""
        while True:
            answer = yield frame
            (code,) = _ERROR.unpack_from(answer, error_at)
            if not code:
                return answer
            if code not in _AGAIN:
                raise SystemExit(f"the broker answered {ErrorCode(code).name}")
            self.asked_again += 1
            yield b""

    def receive(self) -> bytes | None:
        """The answer without its length, once it is whole."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise SystemExit("the broker closed a connection")
        self._rest += data
        if len(self._rest) < 4:
            return None
        (size,) = _LENGTH.unpack_from(self._rest)
        if len(self._rest) < 4 + size:
            return None
        answer, self._rest = self._rest[4:], b""
        return answer


def drive(producers: list[RawProducer], seconds: float) -> dict[str, Any]:
    """Let them work for a while; the figures of what they did in that time."""
    poll = select.epoll()
    by_number = {each.socket.fileno(): each for each in producers}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    pauses: list[tuple[float, int]] = []
    for each in producers:
        each.took_ns.clear()
        each.asked_again = 0
        each.socket.sendall(next(each.frames))
    began, cpu = time.monotonic(), time.process_time()
    waiting = len(producers)
    while waiting:
        timeout = max(0.0, pauses[0][0] - time.monotonic()) if pauses else -1
        for number, _ in poll.poll(timeout):
            producer = by_number[number]
            answer = producer.receive()
            if answer is None:
                continue
            count = len(producer.took_ns)
            frame = producer.frames.send(answer)
            now = time.monotonic()
            if len(producer.took_ns) > count and now - began > seconds:
                producer.frames.close()
                producer.frames = producer._run()
                waiting -= 1
            elif frame:
                producer.socket.sendall(frame)
            else:
                heapq.heappush(pauses, (now + BACKOFF_S, number))
        while pauses and pauses[0][0] <= time.monotonic():
            producer = by_number[heapq.heappop(pauses)[1]]
            producer.socket.sendall(next(producer.frames))
    elapsed, cpu = time.monotonic() - began, time.process_time() - cpu
    poll.close()
    took = sorted(each for producer in producers for each in producer.took_ns)
    return _figures(took, elapsed) | {
        "asked_again": sum(each.asked_again for each in producers),
        "client_cpu_s": cpu,
    }


def _figures(took: list[int], elapsed: float) -> dict[str, Any]:
    return {
        "seconds": elapsed,
        "transactions": len(took),
        "p50_us": took[len(took) // 2] / 1e3,
        "p99_us": took[len(took) * 99 // 100] / 1e3,
    }


class LibrdkafkaProducer:
    """The first version, with that client's own waits."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._topic, self._records = args.topic, args.records
        self._value = bytes(index * 31 & 0xFF for index in range(args.size))
        self._producer = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{args.port}",
                "transactional.id": f"librdkafka-{time.time_ns()}",
                "linger.ms": 0,
                "log_level": 2,
            }
        )
        self._producer.init_transactions(PATIENCE_S)

    def drive(self, seconds: float) -> dict[str, Any]:
        took = []
        began, cpu = time.monotonic(), time.process_time()
        while time.monotonic() - began < seconds:
            start = time.perf_counter_ns()
            self._producer.begin_transaction()
            for _ in range(self._records):
                self._producer.produce(self._topic, self._value, partition=0)
            self._producer.commit_transaction(PATIENCE_S)
            took.append(time.perf_counter_ns() - start)
        figures = _figures(sorted(took), time.monotonic() - began)
        return figures | {
            "asked_again": 0,
            "client_cpu_s": time.process_time() - cpu,
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["first", "second", "librdkafka"])
    parser.add_argument("--port", type=int)
    parser.add_argument("--topic")
    parser.add_argument("--producers", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--records", type=int, default=10, help="of a transaction")
    parser.add_argument("--size", type=int, default=100, help="of a record")
    parser.add_argument("--warmup", type=float, default=1, help="seconds")
    parser.add_argument("--seconds", type=float, default=5)
    args = parser.parse_args()
    wait_for_leaders(args)
    if args.work == "librdkafka":
        client = LibrdkafkaProducer(args)
        client.drive(args.warmup)
        _tell(client.drive, args.seconds)
        return
    producers = [RawProducer(args, place) for place in range(args.producers)]
    drive(producers, args.warmup)
    _tell(lambda seconds: drive(producers, seconds), args.seconds)


def _tell(work: Any, seconds: float) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(work(seconds)), flush=True)


if __name__ == "__main__":
    main()
