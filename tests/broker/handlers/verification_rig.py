"""A broker whose logs verify transactions, and a coordinator by script."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.handlers.records.produce import handle_produce
from odradek.broker.handlers.topics.topic_deletion import delete_topics
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.runtime.parked import Parked
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.records.test_produce import decoded, request
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, marker_of, replicas

PRODUCER = ProducerIdentity(7, 0)
ID = "mine"
T0, T1, T2 = (TopicPartition("t", index) for index in range(3))


class ScriptedCoordinator:
    """Stands in for the coordinator: answers at once, or when the test says so."""

    def __init__(self) -> None:
        self.other_brokers: Any = None
        self.asked: list[Addition] = []
        self.codes: dict[TopicPartition, int] = {}
        self.parked: Parked | None = None

    def admit(self, addition: Addition) -> dict[TopicPartition, int] | Parked:
        self.asked.append(addition)
        if self.parked is not None:
            return self.parked
        return {each: self.codes.get(each, 0) for each in addition.partitions}

    def forget_topic(self, name: str) -> None:
        """It knows of none."""

    def answer(self, code: int = 0) -> None:
        """What was asked last is answered now; the next question at once."""
        parked, self.parked = self.parked, None
        assert parked is not None
        parked.set_result(dict.fromkeys(self.asked[-1].partitions, code))


class Rig:
    """A broker whose logs verify transactions, and that coordinator."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.coordinator = ScriptedCoordinator()
        broker.services.transactions = cast("Any", self.coordinator)

    def send(self, asked: ProduceRequest, version: int = 11) -> Any:
        """What the handler returns."""
        return handle_produce(self.broker.context(version), asked)

    async def begin(
        self, asked: ProduceRequest, version: int = 11
    ) -> asyncio.Task[Any]:
        """A request whose coordinator has not answered yet."""
        self.coordinator.parked = Parked()
        task: asyncio.Task[Any] = asyncio.create_task(self.send(asked, version))
        await asyncio.sleep(0)
        assert not task.done()
        return task

    async def codes(self, asked: ProduceRequest, version: int = 11) -> dict[Any, int]:
        return codes_of(await self.told(self.send(asked, version), version))

    async def told(self, answer: Any, version: int = 11) -> ProduceResponse:
        while isinstance(answer, Parked | asyncio.Future) or asyncio.iscoroutine(
            answer
        ):
            if isinstance(answer, Parked) and not answer.done():
                await self.broker.commit()
            answer = await answer
        return decoded(answer, version)

    def end_offset(self, topic_partition: TopicPartition = T0) -> int:
        return self.broker.manager.partition(topic_partition).view.log_end_offset

    async def delete_topic(self) -> None:
        topic = self.broker.topics.get("t")
        assert topic is not None
        await delete_topics(self.broker.services, [topic.topic_id])

    def mark(self, topic_partition: TopicPartition = T0, epoch: int = 0) -> None:
        """The producer's transaction is aborted in a partition."""
        results = self.broker.manager.append_records(
            {topic_partition: marker_of(7, epoch, commits=False)},
            acks=1,
            timeout_ms=1000,
            terms=OF_A_COORDINATOR,
        )
        assert results[topic_partition].error_code == 0


@contextlib.asynccontextmanager
async def rig(
    directory: Path, files: FakeFiles | None = None, **options: Any
) -> AsyncIterator[Rig]:
    options.setdefault("transaction_partition_verification_enable", True)
    async with replicas(directory, files, **options) as broker:
        if broker.topics.get("t") is None:
            await broker.create_topic(partitions=3)
        yield Rig(broker)


def data(
    sequence: int = 0, epoch: int = 0, producer_id: int = 7, **fields: Any
) -> memoryview:
    return batch_of(
        b"v",
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
        **fields,
    )


def produce(
    *batches: tuple[TopicPartition, Any], acks: int = 1, **fields: Any
) -> ProduceRequest:
    placed = [(topic, index, batch) for (topic, index), batch in batches]
    fields.setdefault("transactional_id", ID)
    return request(*placed, acks=acks, **fields)


def codes_of(response: ProduceResponse) -> dict[int, int]:
    return {
        each.index: each.error_code
        for topic in response.responses
        for each in topic.partition_responses
    }
