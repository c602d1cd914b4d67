"""Stock clients delete records, and read where the log begins afterwards."""

import asyncio
from collections.abc import Callable

import aiokafka
import aiokafka.admin
import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import QUICKLY, Confluent, KafkaPython, Message
from tests.patience import PATIENCE_S

COUNT, BEFORE = 20, 7


def by_confluent(address: str, topic: str, offset: int) -> int:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    place = confluent_kafka.TopicPartition(topic, 0, offset)
    (future,) = admin.delete_records([place]).values()
    low_watermark: int = future.result(PATIENCE_S).low_watermark
    return low_watermark


def by_kafka_python(address: str, topic: str, offset: int) -> int:
    admin = kafka.KafkaAdminClient(bootstrap_servers=address)
    place = kafka.TopicPartition(topic, 0)
    try:
        answer = admin.delete_records({place: offset})
    finally:
        admin.close()
    low_watermark: int = answer[place]["low_watermark"]
    return low_watermark


def by_aiokafka(address: str, topic: str, offset: int) -> int:
    async def delete() -> int:
        admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        place = aiokafka.TopicPartition(topic, 0)
        wanted = aiokafka.admin.RecordsToDelete(before_offset=offset)
        try:
            answer = await admin.delete_records({place: wanted})
        finally:
            await admin.close()
        low_watermark: int = answer[place]
        return low_watermark

    return asyncio.run(delete())


@pytest.mark.parametrize("delete", [by_confluent, by_kafka_python, by_aiokafka])
def test_records_are_deleted(
    broker: BrokerProcess, topic: str, delete: Callable[[str, str, int], int]
) -> None:
    client = Confluent()
    client.create_topic(broker.address, topic, 1)
    messages = [Message(None, b"%d" % number) for number in range(COUNT)]
    client.produce(broker.address, topic, messages, QUICKLY)
    assert delete(broker.address, topic, BEFORE) == BEFORE
    reads = KafkaPython().consume(broker.address, topic, 0, COUNT - BEFORE)
    assert [read.offset for read in reads] == list(range(BEFORE, COUNT))
    assert delete(broker.address, topic, -1) == COUNT
