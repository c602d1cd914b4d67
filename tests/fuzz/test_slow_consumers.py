"""Fifty consumers that read slowly share a small memory for answers, and all get on."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from odradek.broker.node.server import Server
from odradek.broker.runtime.memory.answer_memory import SMALL_SIZE
from odradek.client.connection import Connection
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch
from tests.broker.node.test_server import config, with_client
from tests.fakes.files import FakeFiles
from tests.patience import PATIENCE_S

SLOW = 50
LIMIT = 2 << 20
BATCHES, BATCH_SIZE = 60, 10_000
PIECE = 2048  # bytes that a slow consumer reads before all others have
BUFFER = 4096  # of the system, in both directions
VERSION = 11


def fetch_request(offset: int) -> FetchRequest:
    partition = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=8 << 20
    )
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=8 << 20,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )


def fill(connection: Connection) -> None:
    named = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    assert connection.request(named, MetadataResponse, 9).topics[0].error_code == 0
    for _ in range(BATCHES):
        records = build_batch([NewRecord(None, os.urandom(BATCH_SIZE), 1)])
        topic = TopicProduceData(
            name="t", partition_data=[PartitionProduceData(index=0, records=records)]
        )
        request = ProduceRequest(acks=-1, timeout_ms=9000, topic_data=[topic])
        answer = connection.request(request, ProduceResponse, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


class SlowConsumer:
    """Reads the topic from its beginning, a piece of an answer at a time."""

    def __init__(self, port: int) -> None:
        self.offset = 0
        self.largest = 0  # answer
        self._data = bytearray()
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._socket.connect(("127.0.0.1", port))
        self._socket.setblocking(False)
        self._ask()

    def _ask(self) -> None:
        request = fetch_request(self.offset)
        self._socket.sendall(encode_request(request, VERSION, 1, "slow"))

    @property
    def is_done(self) -> bool:
        return self.offset == BATCHES

    def read(self) -> None:
        try:
            piece = self._socket.recv(PIECE)
        except BlockingIOError:
            return
        assert piece, "it was cut off"
        self._data += piece
        size = 4 + int.from_bytes(self._data[:4], "big")
        if len(self._data) < max(size, 5):
            return
        self.largest = max(self.largest, size)
        _, answer = decode_response(bytes(self._data[4:]), FetchResponse, VERSION)
        self._data.clear()
        (found,) = answer.responses[0].partitions
        for _, header in scan(memoryview(found.records or b"")):
            self.offset = header.next_offset
        if not self.is_done:
            self._ask()

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def slow_consumers(port: int) -> Iterator[list[SlowConsumer]]:
    consumers = [SlowConsumer(port) for _ in range(SLOW)]
    try:
        yield consumers
    finally:
        for each in consumers:
            each.close()


async def test_fifty_slow_consumers_get_everything_within_the_memory(
    tmp_path: Path,
) -> None:
    sizes = {
        "socket_send_buffer_bytes": BUFFER,
        "explicit": frozenset({"socket.send.buffer.bytes"}),
    }
    options = config(tmp_path, queued_max_response_bytes=LIMIT, **sizes)
    server = Server(options, files=FakeFiles())
    await server.start()
    try:
        await with_client(server, fill)
        answers, most = server.services.answer_memory, 0
        with slow_consumers(server.listeners[0].port) as consumers:
            async with asyncio.timeout(PATIENCE_S):
                while not all(each.is_done for each in consumers):
                    for each in consumers:
                        if not each.is_done:
                            each.read()
                    await asyncio.sleep(0)
                    most = max(most, answers.used)
        print(f"most {most}, {[each.largest for each in consumers]}")
        assert LIMIT // 2 < most <= LIMIT + SMALL_SIZE, "one answer goes past it"
        largest = sorted(each.largest for each in consumers)
        assert largest[0] >= BATCH_SIZE
        assert largest[-1] < LIMIT // 8
        hits = server._network.log.hits
        assert hits.keys() == {"queued.max.response.bytes"}
    finally:
        await server.stop()
    assert server.bugs.count == 0
    assert answers.used == 0
