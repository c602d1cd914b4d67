"""A broker with connections and a tracer in memory; its time goes on by steps."""

import contextlib
import itertools
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.handlers import load as load_handlers
from odradek.broker.network.admission import Admission
from odradek.broker.network.connection import Connection
from odradek.broker.network.listener import Listener
from odradek.broker.network.network import Network
from odradek.broker.operate.tracing.tracer import Ask, Tracer
from odradek.broker.operate.tracing.wanted import API_OF, Wanted
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.fakes.network import FakeTransport, settle
from tests.fakes.replicas import Replicas, batch_of, replicas

PRODUCE_VERSION, FETCH_VERSION, COMMIT_VERSION = 12, 12, 9


def produce(
    *indexes: int, acks: int = -1, topic: str = "t", client: str = "client"
) -> bytes:
    """A Produce of one batch for each of these partitions."""
    data = [
        PartitionProduceData(index=index, records=bytes(batch_of(b"v")))
        for index in indexes or (0,)
    ]
    request = ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )
    return encode_request(request, PRODUCE_VERSION, 77, client)


def fetch(offset: int, max_wait_ms: int = 500) -> bytes:
    """A Fetch from partition 0 of ``t``."""
    partition = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )
    return encode_request(request, FETCH_VERSION, 78, "client")


def commit(group: str = "g") -> bytes:
    """An OffsetCommit of one offset."""
    offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[offset])]
    request = OffsetCommitRequest(group_id=group, topics=topics)
    return encode_request(request, COMMIT_VERSION, 79, "client")


class Traced:
    """A broker, a connection to it, and who looks on."""

    def __init__(self, broker: Replicas) -> None:
        config, clock = broker.config, broker.clock
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, registered_handlers())
        network = Network(
            options=config,
            dispatcher=self.dispatcher,
            clock=clock,
            memory=RequestMemory(config.queued_max_request_bytes),
            answers=broker.answers,
            admission=Admission(config, clock),
            log=LimitedLog(clock, lambda line: None),
        )
        self.listener = Listener("PLAINTEXT", "127.0.0.1", 0, network)
        ticks = itertools.count(0, 1000)
        self.tracer = Tracer(broker.services, [self.listener], lambda: next(ticks))
        self.transport = self.connect()

    def connect(self) -> FakeTransport:
        """Another client."""
        transport = FakeTransport()
        transport.connect(Connection(self.listener))
        return transport

    def ask_for(self, what: str, count: int = 1, **filters: Any) -> Ask:
        """Look for such requests."""
        ask = Ask(Wanted(API_OF[what], **filters), count)
        self.tracer.begin(ask)
        return ask

    async def send(self, frame: bytes) -> None:
        """The client asks; what can be answered at once is."""
        self.transport.feed(frame)
        await settle()

    @property
    def answer_count(self) -> int:
        """How many answers the client has."""
        count, position = 0, 0
        while position < len(self.transport.sent):
            (size,) = struct.unpack_from(">i", self.transport.sent, position)
            position += 4 + size
            count += 1
        return count


def steps_of(item: dict[str, Any]) -> list[str]:
    """The functions that it has passed, by their last names."""
    return [step["function"] for step in item["steps"]]


def texts_of(item: dict[str, Any]) -> list[str]:
    return [step["text"] for step in item["steps"]]


@contextlib.asynccontextmanager
async def traced(directory: Path, **options: Any) -> AsyncIterator[Traced]:
    """A broker with the topic ``t`` of two partitions; no bug is met meanwhile."""
    load_handlers()
    async with replicas(directory, **options) as broker:
        await broker.create_topic("t", 2)
        traced = Traced(broker)
        yield traced
        await settle()
        assert broker.bugs == []
