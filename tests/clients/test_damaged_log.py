"""A log file damaged while the broker was down: clients read all that is sound."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import aiokafka
import confluent_kafka
import kafka
import pytest

from odradek.protocol.record_batch import scan
from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import CLIENTS, AioKafka, Client, Confluent

TOPIC = "damaged"
COUNT = 40
LOG = f"{TOPIC}-0/00000000000000000000.log"
MIDDLE, MANGLED, LAST = 11, 25, COUNT - 1

# After a kill a damaged last batch is a torn tail: it is cut, and nothing to pass.
WAYS = {
    "stop": (BrokerProcess.terminate, {MIDDLE, MANGLED, LAST}),
    "kill": (BrokerProcess.kill, {MIDDLE, MANGLED}),
}


def produce(address: str, start: int, end: int) -> None:
    """One record a batch, the value of which is its offset."""
    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    for number in range(start, end):
        producer.produce(TOPIC, value=b"%d" % number, partition=0)
        assert producer.flush(30) == 0


def damage(path: Path, lost: set[int]) -> None:
    """Flip a bit in these batches, and make nonsense of the length of one."""
    data = bytearray(path.read_bytes())
    starts = [position for position, _ in scan(data)]
    assert len(starts) == COUNT
    for number in lost:
        data[starts[number] + (9 if number == MANGLED else 64)] ^= 0x10
    path.write_bytes(data)


def position_of_confluent(address: str) -> int:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    try:
        while True:
            message = consumer.poll(30)
            assert message is not None
            error, offset = message.error(), message.offset()
            if error is not None:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                assert offset is not None
                return offset
    finally:
        consumer.close()


def position_of_kafka_python(address: str) -> int:
    consumer = kafka.KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    place = kafka.TopicPartition(TOPIC, 0)
    consumer.assign([place])
    consumer.seek(place, 0)
    position = -1
    try:
        for _ in range(20):
            consumer.poll(timeout_ms=500)
            position = int(consumer.position(place))
            if position == COUNT:
                break
    finally:
        consumer.close()
    return position


def position_of_aiokafka(address: str) -> int:
    async def run() -> int:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=address, enable_auto_commit=False
        )
        await consumer.start()
        place = aiokafka.TopicPartition(TOPIC, 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        position = -1
        try:
            for _ in range(20):
                await consumer.getmany(timeout_ms=500)
                position = int(await consumer.position(place))
                if position == COUNT:
                    break
        finally:
            await consumer.stop()
        return position

    return asyncio.run(run())


POSITIONS: dict[str, Callable[[str], int]] = {
    "confluent-kafka": position_of_confluent,
    "kafka-python": position_of_kafka_python,
    "aiokafka": position_of_aiokafka,
}


@pytest.mark.parametrize(
    ("client", "way"),
    [*((client, "stop") for client in CLIENTS), (AioKafka(), "kill")],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_every_sound_record_is_read_and_the_end_is_reached(
    tmp_path: Path, client: Client, way: str
) -> None:
    stop, lost = WAYS[way]
    data_dir = tmp_path / "data"
    with running_broker(data_dir, "-o", "log.retention.ms=-1") as broker:
        Confluent().create_topic(broker.address, TOPIC, 1)
        produce(broker.address, 0, COUNT)
        stop(broker)
        damage(data_dir / LOG, lost)
        broker.start()
        sound = [offset for offset in range(COUNT) if offset not in lost]
        found = client.consume(broker.address, TOPIC, 0, len(sound))
        assert [read.offset for read in found] == sound
        assert POSITIONS[client.name](broker.address) == COUNT
        produce(broker.address, COUNT, COUNT + 3)
        found = client.consume(broker.address, TOPIC, 0, len(sound) + 3)
        assert [read.offset for read in found] == [*sound, COUNT, COUNT + 1, COUNT + 2]
        assert all(read.message.value == b"%d" % read.offset for read in found)
        log = broker.log()
        assert log.count("are passed over") == len(lost), log
        assert "Traceback" not in log
