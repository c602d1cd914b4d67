import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.network.reading_gate import MUTED
from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuotaEntry,
    EntityData,
    OpData,
)
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from odradek.protocol.messages.fetch import FetchTopic as WantedTopic
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.share_fetch import (
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareFetchTopic,
)
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.records import NewRecord, build_batch
from tests.broker.node.test_server import config, create_topic
from tests.patience import PATIENCE_S

VALUE = bytes(20_000)


class Served:
    """A broker, and a client in a thread."""

    def __init__(self, server: Server, connection: Connection) -> None:
        self.server = server
        self.connection = connection

    async def ask(self, request: Any, response: Any, version: int) -> Any:
        return await asyncio.to_thread(
            self.connection.request, request, response, version
        )

    @contextlib.asynccontextmanager
    async def another(self, client_id: str) -> AsyncIterator["Served"]:
        connection = await connected(self.server, client_id)
        try:
            yield Served(self.server, connection)
        finally:
            connection.close()

    async def set_quota(self, key: str, value: float | None) -> None:
        op = OpData(key=key, value=value or 0, remove=value is None)
        entry = AlteredQuotaEntry(
            entity=[EntityData(entity_type="client-id", entity_name="c")], ops=[op]
        )
        request = AlterClientQuotasRequest(entries=[entry])
        answer = await self.ask(request, AlterClientQuotasResponse, 1)
        assert [each.error_code for each in answer.entries] == [0]

    async def produce(self, acks: int = 1) -> Any:
        batch = bytes(build_batch([NewRecord(timestamp=0, value=VALUE)]))
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(name="t", partition_data=[data])
        request = ProduceRequest(acks=acks, timeout_ms=9000, topic_data=[topic])
        return await self.ask(request, ProduceResponse, 9)


@contextlib.asynccontextmanager
async def served(data_dir: Path) -> AsyncIterator[Served]:
    server = Server(config(data_dir))
    await server.start()
    connection = await connected(server, "c")
    try:
        await asyncio.to_thread(create_topic, connection)
        yield Served(server, connection)
    finally:
        connection.close()
        await server.stop()
        assert server.bugs.count == 0


async def connected(server: Server, client_id: str) -> Connection:
    port = server.listeners[0].port
    make: Callable[[], Connection] = lambda: Connection(  # noqa: E731
        "127.0.0.1", port, client_id=client_id, timeout_s=PATIENCE_S
    )
    return await asyncio.to_thread(make)


def count_decoded(server: Server) -> list[Any]:
    """The requests that are decoded from now on: those that take the long way."""
    dispatcher: Any = server._network.dispatcher
    decoded: list[Any] = []
    read = dispatcher.read

    def note(frame: memoryview) -> Any:
        found = read(frame)
        decoded.append(found[2])
        return found

    dispatcher.read = note
    return decoded


def muted(server: Server) -> list[bool]:
    connections = server.listeners[0].connections
    return [each.gate.is_shut_for(MUTED) for each in connections]


async def test_without_a_quota_nothing_is_measured(tmp_path: Path) -> None:
    async with served(tmp_path) as broker:
        dispatcher = broker.server._network.dispatcher
        assert dispatcher.whole == dispatcher.dispatch_whole
        assert (await broker.produce()).throttle_time_ms == 0
        await broker.set_quota("producer_byte_rate", 1 << 30)
        assert dispatcher.whole != dispatcher.dispatch_whole
        await broker.set_quota("producer_byte_rate", None)
        assert dispatcher.whole == dispatcher.dispatch_whole


async def test_who_has_no_quota_takes_short_ways_whoever_has_one(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as broker, broker.another("free") as free:
        await broker.set_quota("producer_byte_rate", 1_000)
        await free.produce()  # finds the way
        decoded = count_decoded(broker.server)
        for acks in (1, -1, 1):
            assert (await free.produce(acks)).throttle_time_ms == 0
        assert decoded == []
        assert (await broker.produce()).throttle_time_ms > 9_000


async def test_who_has_a_quota_takes_short_ways_too(tmp_path: Path) -> None:
    async with served(tmp_path) as broker:
        await broker.set_quota("producer_byte_rate", 100_000)
        await broker.produce()  # finds the way
        decoded = count_decoded(broker.server)
        waits = [(await broker.produce(acks)).throttle_time_ms for acks in (1, -1)]
        assert waits == [0, 0]
        await broker.set_quota("producer_byte_rate", 6_000)
        # 60,000 may be done at once: with this one it is a third more.
        answer = await broker.produce()
        assert 2_000 < answer.throttle_time_ms < 5_000
        assert muted(broker.server) == [True]
        names = [type(each).__name__ for each in decoded]
        assert names == ["AlterClientQuotasRequest", "ProduceRequest"]


@pytest.mark.parametrize("acks", [1, -1])
async def test_the_short_way_says_how_long_to_be_quiet(
    tmp_path: Path, acks: int
) -> None:
    async with served(tmp_path) as broker:
        # Whole windows are 20,000 bytes: the first request is within them.
        await broker.set_quota("producer_byte_rate", 2_100)
        assert (await broker.produce(acks)).throttle_time_ms == 0
        decoded = count_decoded(broker.server)
        answer = await broker.produce(acks)
        (stored,) = answer.responses[0].partition_responses
        assert stored.base_offset == 1
        assert 8_000 < answer.throttle_time_ms < 10_000
        assert muted(broker.server) == [True]
        assert decoded == []


async def test_who_produces_too_much_is_told_and_muted(tmp_path: Path) -> None:
    async with served(tmp_path) as broker:
        for acks in (1, -1):
            assert (await broker.produce(acks)).throttle_time_ms == 0
        await broker.set_quota("producer_byte_rate", 1_000)
        answer = await broker.produce()
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert 9_000 < answer.throttle_time_ms < 12_000
        assert muted(broker.server) == [True]


async def test_an_answer_that_waits_for_its_sync_is_told_too(tmp_path: Path) -> None:
    async with served(tmp_path) as broker:
        await broker.set_quota("producer_byte_rate", 1_000)
        answer = await broker.produce(acks=-1)
        assert answer.throttle_time_ms > 9_000


async def test_who_reads_too_much_is_told_and_muted(tmp_path: Path) -> None:
    async with served(tmp_path) as broker:
        await broker.produce(acks=-1)
        await broker.set_quota("consumer_byte_rate", 1_000)
        partition = FetchPartition(
            partition=0, fetch_offset=0, partition_max_bytes=1 << 20
        )
        topic = WantedTopic(topic="t", partitions=[partition])
        request = FetchRequest(
            max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, topics=[topic]
        )
        answer = await broker.ask(request, FetchResponse, 12)
        assert answer.throttle_time_ms > 9_000
        records = answer.responses[0].partitions[0].records
        assert len(records) > len(VALUE)
        assert muted(broker.server) == [True]


async def test_who_is_handed_too_much_is_told_and_muted(tmp_path: Path) -> None:
    member: dict[str, Any] = {"group_id": "g", "member_id": "m"}
    async with served(tmp_path) as broker:
        await broker.produce(-1)
        group = Resource(ResourceKind.GROUP, "g")
        first = {"share.auto.offset.reset": "earliest"}
        await broker.server.services.resources.alter(group, lambda _: first)
        await broker.server.services.groups.create_topic()
        join = ShareGroupHeartbeatRequest(subscribed_topic_names=["t"], **member)
        joined = await broker.ask(join, ShareGroupHeartbeatResponse, 1)
        ((topic,),) = [joined.assignment.topic_partitions]
        await broker.set_quota("consumer_byte_rate", 1000)
        wanted = ShareFetchTopic(
            topic_id=topic.topic_id, partitions=[ShareFetchPartition()]
        )
        request = ShareFetchRequest(
            max_wait_ms=PATIENCE_S * 1000,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=500,
            topics=[wanted],
            **member,
        )
        answer = await broker.ask(request, ShareFetchResponse, 2)
        assert answer.throttle_time_ms > 0
        ((handed,),) = [each.partitions for each in answer.responses]
        assert len(handed.records) > len(VALUE)
        assert muted(broker.server) == [True]


async def test_who_takes_the_loops_time_waits_a_second_at_most(tmp_path: Path) -> None:
    async with served(tmp_path) as broker:
        await broker.set_quota("request_percentage", 0.000_001)
        answer = await broker.produce()
        assert 0 < answer.throttle_time_ms <= 1000
        # It goes on when the time is over, by the short way.
        decoded = count_decoded(broker.server)
        answer = await broker.produce()
        assert answer.responses[0].partition_responses
        assert 0 < answer.throttle_time_ms <= 1000
        assert decoded == []


async def test_too_many_changes_of_topics_are_refused(tmp_path: Path) -> None:
    def creation(name: str) -> CreateTopicsRequest:
        topic = CreatableTopic(name=name, num_partitions=250, replication_factor=1)
        return CreateTopicsRequest(topics=[topic], timeout_ms=9000)

    async with served(tmp_path) as broker:
        await broker.set_quota("controller_mutation_rate", 10)
        answer = await broker.ask(creation("first"), CreateTopicsResponse, 7)
        # What was saved is used up and more: whoever comes next pays for it.
        assert answer.topics[0].error_code == ErrorCode.NONE
        answer = await broker.ask(creation("one-more"), CreateTopicsResponse, 7)
        assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert answer.throttle_time_ms > 0
        assert broker.server.services.metadata.get("one-more") is None
