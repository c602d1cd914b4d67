"""R13: frames of every length at an edge, cut at every byte, a thousand at once.

A whole broker; between it and the test stands a transport in memory, so that bytes
come exactly as they are cut here.
"""

import os
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from odradek.broker.network.connection import Connection
from odradek.broker.node.server import Server
from odradek.protocol.framing import CHUNK_SIZE, CHUNK_SIZE_MAX, UNFINISHED_SIZE_MIN
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request
from tests.broker.node.test_server import (
    create_topic,
    fetch_request,
    running,
    with_client,
)
from tests.fakes.broker import until
from tests.fakes.network import FakeTransport
from tests.fuzz.strangers import PING

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
STRIDE = 1 if IS_LONG else 17
SIZE_MAX = 1 << 20
EDGES = (UNFINISHED_SIZE_MIN, CHUNK_SIZE, CHUNK_SIZE_MAX, 1 << 15, SIZE_MAX)
TOO_SHORT = range(1, 8)  # for API key, version and correlation id


class Wire:
    """One connection, and the answers that have come over it."""

    def __init__(self, server: Server) -> None:
        self.transport = FakeTransport()
        self.transport.connect(Connection(server.listeners[0]))

    def answers(self) -> list[tuple[int, int]]:
        """Correlation id and size of each."""
        sent, found, position = self.transport.sent, [], 0
        while position < len(sent):
            size, correlation_id = struct.unpack_from(">ii", sent, position)
            found.append((correlation_id, size))
            position += 4 + size
        return found

    @property
    def is_closed(self) -> bool:
        return self.transport.is_closing()

    def close(self) -> None:
        self.transport.lose()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with running(tmp_path, socket_request_max_bytes=SIZE_MAX) as server:
        await with_client(server, create_topic)
        yield server


def padded_ping(size: int) -> bytes:
    """A frame of ``size`` bytes: what stands behind a request is passed over."""
    return struct.pack(">i", size) + PING[4:] + bytes(size - len(PING) + 4)


async def test_every_length_at_an_edge_is_answered_or_closes(server: Server) -> None:
    smallest = len(PING) - 4
    sizes = {
        smallest,
        smallest + 1,
        *(edge + d for edge in EDGES for d in range(-9, 6)),
    }
    for size in sorted(sizes):
        wire = Wire(server)
        wire.transport.feed(padded_ping(size)[: 4 + min(size, SIZE_MAX)] + PING)
        assert wire.is_closed == (size > SIZE_MAX), size
        assert len(wire.answers()) == (0 if wire.is_closed else 2), size
        wire.close()


@pytest.mark.parametrize(
    "size", [-(1 << 31), -(1 << 31) + 1, -2, -1, 0, SIZE_MAX + 1, (1 << 31) - 1]
)
async def test_no_frame_is_so_long(server: Server, size: int) -> None:
    wire = Wire(server)
    wire.transport.feed(PING + struct.pack(">i", size))
    assert wire.is_closed
    assert len(wire.answers()) == 1, "what stood before it is answered"
    wire.close()


@pytest.mark.parametrize("size", TOO_SHORT)
async def test_no_request_is_so_short(server: Server, size: int) -> None:
    for body in (PING[4 : 4 + size], bytes(size), b"\xff" * size):
        wire = Wire(server)
        wire.transport.feed(struct.pack(">i", size) + body)
        assert wire.is_closed
        assert not wire.transport.sent
        wire.close()


def requests() -> list[tuple[Request, int]]:
    """One of each way to be answered: at once, from a log, after a sync."""
    batch = build_batch([NewRecord(b"key", b"value" * 10, 1)])
    data = PartitionProduceData(index=0, records=bytes(batch))
    offsets = ListOffsetsPartition(partition_index=0, timestamp=-1)
    return [
        (ApiVersionsRequest(), 3),
        (
            ProduceRequest(
                acks=-1,
                timeout_ms=20_000,
                topic_data=[TopicProduceData(name="t", partition_data=[data])],
            ),
            9,
        ),
        (MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9),
        (
            ListOffsetsRequest(
                replica_id=-1,
                topics=[ListOffsetsTopic(name="t", partitions=[offsets])],
            ),
            5,
        ),
        (fetch_request(0), 12),
        (ApiVersionsRequest(), 0),
    ]


def stream(count: int) -> bytes:
    each = requests()
    return b"".join(
        bytes(encode_request(*each[number % len(each)], number, "edges"))
        for number in range(count)
    )


async def answered(wire: Wire, count: int) -> None:
    await until(lambda: len(wire.answers()) == count)
    assert [number for number, _ in wire.answers()] == list(range(count))
    assert not wire.is_closed
    wire.close()


async def test_a_stream_may_be_cut_at_every_byte(server: Server) -> None:
    count = len(requests())
    data = stream(count)
    for position in range(1, len(data), STRIDE):
        wire = Wire(server)
        wire.transport.feed(data[:position])
        wire.transport.feed(data[position:])
        await answered(wire, count)
    wire = Wire(server)
    for position in range(len(data)):
        wire.transport.feed(data[position : position + 1])
    await answered(wire, count)


async def test_a_thousand_requests_at_once_are_answered_in_order(
    server: Server,
) -> None:
    wire = Wire(server)
    wire.transport.feed(stream(1000))
    await answered(wire, 1000)
