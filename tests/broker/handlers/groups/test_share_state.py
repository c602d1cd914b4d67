"""The requests of brokers about share partitions, each in all its versions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.groups import share_state
from odradek.broker.runtime.parked import Parked
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ClusterAuthorizationFailed
from odradek.protocol.messages.share_state import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    ShareStateBatch,
    ShareStatePartitionToDelete,
    ShareStatePartitionToInitialize,
    ShareStatePartitionToRead,
    ShareStatePartitionToWrite,
    ShareStateTopicToDelete,
    ShareStateTopicToInitialize,
    ShareStateTopicToRead,
    ShareStateTopicToWrite,
    WriteShareGroupStateRequest,
)
from tests.fakes.replicas import Replicas, replicas
from tests.patience import PATIENCE_S

UNKNOWN = b"?" * 16


class Client:
    """Answers are decoded from their bytes."""

    def __init__(self, broker: Replicas, topic_id: bytes) -> None:
        self.broker = broker
        self.topic_id = topic_id

    async def told(self, handle: Any, request: Any, version: int = 0) -> Any:
        answer = handle(self.broker.context(version), request)
        if isinstance(answer, Parked):
            async with asyncio.timeout(PATIENCE_S):
                while not answer.done():
                    await self.broker.commit()
                    await asyncio.sleep(0)
            answer = answer.result()
        data = memoryview(answer.encode(version))
        return decoder(type(answer), version)(data, 0)[0]

    async def begin(self, *partitions: tuple[int, int, int], group: str = "g") -> Any:
        """Each with its epoch and start."""
        asked = [
            ShareStatePartitionToInitialize(
                partition=number, state_epoch=epoch, start_offset=start
            )
            for number, epoch, start in partitions
        ]
        topic = ShareStateTopicToInitialize(topic_id=self.topic_id, partitions=asked)
        request = InitializeShareGroupStateRequest(group_id=group, topics=[topic])
        return await self.told(share_state.handle_initialize_share_group_state, request)

    async def write(self, version: int = 1, **fields: Any) -> Any:
        fields = {"state_epoch": -1, "leader_epoch": -1, **fields}
        partition = ShareStatePartitionToWrite(**fields)
        topic = ShareStateTopicToWrite(topic_id=self.topic_id, partitions=[partition])
        request = WriteShareGroupStateRequest(group_id="g", topics=[topic])
        handle = share_state.handle_write_share_group_state
        answer = await self.told(handle, request, version)
        return answer.results[0].partitions[0]

    def _to_read(self, *partitions: int, epoch: int = -1) -> list[Any]:
        asked = [
            ShareStatePartitionToRead(partition=number, leader_epoch=epoch)
            for number in partitions
        ]
        return [
            ShareStateTopicToRead(topic_id=self.topic_id, partitions=asked),
            ShareStateTopicToRead(topic_id=UNKNOWN, partitions=asked[:1]),
        ]

    async def read(self, *partitions: int, epoch: int = -1) -> Any:
        topics = self._to_read(*partitions, epoch=epoch)
        request = ReadShareGroupStateRequest(group_id="g", topics=topics)
        return await self.told(share_state.handle_read_share_group_state, request)

    async def summary(self, *partitions: int, version: int = 1) -> Any:
        topics = self._to_read(*partitions)
        request = ReadShareGroupStateSummaryRequest(group_id="g", topics=topics)
        handle = share_state.handle_read_share_group_state_summary
        return await self.told(handle, request, version)

    async def delete(self, *partitions: int) -> list[int]:
        asked = [ShareStatePartitionToDelete(partition=each) for each in partitions]
        topic = ShareStateTopicToDelete(topic_id=self.topic_id, partitions=asked)
        request = DeleteShareGroupStateRequest(group_id="g", topics=[topic])
        answer = await self.told(share_state.handle_delete_share_group_state, request)
        return codes(answer)


def codes(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.results for each in topic.partitions]


@asynccontextmanager
async def client(directory: Path) -> AsyncIterator[Client]:
    """A broker with topic t of 2 partitions."""
    async with replicas(directory) as broker:
        await broker.create_topic("t", 2)
        topic = broker.topics.get("t")
        assert topic is not None
        yield Client(broker, topic.topic_id)
        await broker.services.share_states.close()


async def test_from_its_begin_to_its_end(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        assert codes(await it.begin((0, 1, 5), (1, 2, -1), (2, 1, 0))) == [0, 0, 3]
        batch = ShareStateBatch(
            first_offset=6, last_offset=7, delivery_state=2, delivery_count=1
        )
        written = await it.write(
            partition=0,
            state_epoch=1,
            start_offset=5,
            delivery_complete_count=2,
            state_batches=[batch],
        )
        assert (written.partition, written.error_code) == (0, 0)
        read = await it.read(0, 1)
        known, other = read.results[0].partitions
        assert (known.state_epoch, known.start_offset) == (1, 5)
        assert known.state_batches == [batch]
        assert (other.state_epoch, other.start_offset) == (2, -1)
        assert codes(read) == [0, 0, 42]
        summary = await it.summary(0, 1)
        known, other = summary.results[0].partitions
        assert (known.start_offset, known.delivery_complete_count) == (5, 2)
        assert (other.start_offset, other.delivery_complete_count) == (-1, -1)
        assert codes(summary) == [0, 0, 3]
        assert (await it.summary(0, version=0)).results[0].partitions[0].partition == 0
        assert await it.delete(0, 1) == [0, 0]
        assert codes(await it.read(0)) == [42, 42]


async def test_epochs_of_the_past_are_fenced(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.begin((0, 3, 0))
        assert codes(await it.begin((0, 2, 0))) == [124]
        assert codes(await it.read(0, epoch=4)) == [0, 42]
        fenced = await it.write(0, partition=0, start_offset=1, leader_epoch=3)
        assert fenced.error_code == 74
        assert fenced.error_message
        fenced = await it.write(partition=0, start_offset=1, state_epoch=2)
        assert fenced.error_code == 124
        assert codes(await it.read(0, epoch=3)) == [74, 42]


async def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        assert codes(await it.begin((-1, 1, 0), (0, 1, -2))) == [42, 42]
        unknown = await it.write(partition=1, start_offset=1)
        assert (unknown.partition, unknown.error_code) == (1, 42)
        assert "has not begun" in unknown.error_message
        await it.begin((0, 1, 0))
        batch = ShareStateBatch(
            first_offset=6, last_offset=5, delivery_state=2, delivery_count=1
        )
        bad = await it.write(partition=0, start_offset=1, state_batches=[batch])
        assert bad.error_code == 42
        assert await it.delete(2, -1) == [3, 42]


async def test_a_group_without_a_name_has_nothing(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        assert (await it.begin((0, 1, 0), group="")).results == []
        assert not it.broker.services.share_states.has_topic


@pytest.mark.parametrize(
    "kind", [ReadShareGroupStateRequest, ReadShareGroupStateSummaryRequest]
)
def test_a_refusal_of_all_is_told_for_each(kind: Any) -> None:
    asked = [ShareStatePartitionToRead(partition=each) for each in (0, 3)]
    topic = ShareStateTopicToRead(topic_id=UNKNOWN, partitions=asked)
    request = kind(group_id="g", topics=[topic])
    answer = share_state.refuse_share_group_state(request, ClusterAuthorizationFailed())
    assert codes(answer) == [31, 31]
    assert [each.partition for each in answer.results[0].partitions] == [0, 3]
