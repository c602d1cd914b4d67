"""No fetch gives a consumer more than the windows of its quota hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers import load as load_handlers
from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.quotas.metered import MeteredDispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.replicas import Replicas, batch_of, replicas

VERSION = 12
BATCHES = 40
SIZE = len(batch_of(bytes(1000)))
RATE = 5000  # bytes a second
# Of eleven windows of a second all but the one that has just begun.
WINDOWS = 10 * RATE


class Consumer:
    """Reads on from where it is, without a session."""

    def __init__(self, broker: Replicas, client_id: str | None = "c") -> None:
        load_handlers()
        services = broker.services
        dispatcher = Dispatcher(services, registered_handlers())
        self._metered = MeteredDispatcher(dispatcher, services)
        self._connection = broker.connection
        self._client_id = client_id
        self.next_offset = 0

    def read(self, **fields: Any) -> tuple[int, int]:
        """How many bytes of records there were, and how long to be quiet, in ms."""
        fields = {"min_bytes": 1, "max_wait_ms": 0, "max_bytes": 1 << 20} | fields
        wanted = FetchPartition(
            partition=0, fetch_offset=self.next_offset, partition_max_bytes=1 << 20
        )
        topic = FetchTopic(topic="t", partitions=[wanted])
        asked = FetchRequest(topics=[topic], **fields)
        frame = encode_request(asked, VERSION, 1, self._client_id)[4:]
        answer = self._metered.dispatch(self._connection, memoryview(frame)).answer
        if isinstance(answer, list):
            answer = FetchResponse.decode(b"".join(answer), VERSION)
        size = len(answer.responses[0].partitions[0].records)
        self.next_offset += size // SIZE
        return size, answer.throttle_time_ms


async def set_quota(broker: Replicas, names: Mapping[str, str | None]) -> None:
    await broker.services.resources.alter(
        QuotaEntity.of(names).resource, lambda _: {"consumer_byte_rate": str(RATE)}
    )


async def fill(broker: Replicas, size: int = 1000, count: int = 2 * BATCHES) -> None:
    await broker.create_topic()
    for _ in range(count):
        batch = {TopicPartition("t", 0): batch_of(bytes(size))}
        broker.manager.append_records(batch, acks=1, timeout_ms=1000)
    await broker.commit()


@pytest.mark.parametrize("names", [{"client-id": "c"}, {"user": None}])
async def test_a_consumer_gets_what_its_windows_hold(
    tmp_path: Path, names: dict[str, str | None]
) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        await set_quota(broker, names)
        consumer = Consumer(broker)
        size, wait_ms = consumer.read()
        assert size == WINDOWS
        assert 0 < wait_ms < 100, "for what is around the records"
        broker.clock.advance(11_000)
        size, wait_ms = consumer.read()
        assert size == 2 * BATCHES * SIZE - WINDOWS // SIZE * SIZE
        assert wait_ms == 0


async def test_who_reads_again_too_soon_waits(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        await set_quota(broker, {"client-id": "c"})
        consumer = Consumer(broker)
        consumer.read()
        size, wait_ms = consumer.read()
        assert 0 < size < WINDOWS
        assert wait_ms > 1000


async def test_the_windows_are_those_of_the_options(tmp_path: Path) -> None:
    options = {"quota_window_num": 3, "quota_window_size_seconds": 2}
    async with replicas(tmp_path, **options) as broker:
        await fill(broker)
        await set_quota(broker, {"client-id": "c"})
        assert Consumer(broker).read()[0] == (3 - 1) * 2 * RATE


async def test_smaller_limits_still_hold(tmp_path: Path) -> None:
    async with replicas(tmp_path, fetch_max_bytes=2000) as broker:
        await fill(broker)
        await set_quota(broker, {"client-id": "c"})
        assert Consumer(broker).read() == (2000, 0)
        assert Consumer(broker).read(max_bytes=1500) == (1500, 0)


async def test_who_has_no_quota_gets_everything(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        everything = 2 * BATCHES * SIZE
        assert Consumer(broker).read() == (everything, 0)
        await set_quota(broker, {"client-id": "c"})
        assert Consumer(broker, "other").read() == (everything, 0)
        assert Consumer(broker, None).read() == (everything, 0)


async def test_nobody_waits_for_more_than_there_may_be(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        await set_quota(broker, {"client-id": "c"})
        size, _ = Consumer(broker).read(min_bytes=1 << 20, max_wait_ms=500)
        assert size == WINDOWS


async def test_a_batch_that_no_window_holds_comes_whole(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker, size=2 * WINDOWS, count=2)
        await set_quota(broker, {"client-id": "c"})
        size, wait_ms = Consumer(broker).read()
        assert size == len(batch_of(bytes(2 * WINDOWS)))
        assert wait_ms > 9000
