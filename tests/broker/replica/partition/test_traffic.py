from pathlib import Path

from odradek.broker.replica.partition.fetch_reader import FetchParams, PartitionFetch
from odradek.broker.replica.partition.traffic import NO_TRAFFIC, Traffic
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.replicas import Replicas, batch_of, replicas

SIZE = len(batch_of(b"v"))
NOWHERE = TopicPartition("nowhere", 0)


def append(broker: Replicas, place: TopicPartition, **options: int) -> None:
    broker.manager.append_records(
        {place: batch_of(b"v", **options)}, acks=1, timeout_ms=1000
    )


def fetch(broker: Replicas, *places: TopicPartition, offset: int = 0) -> None:
    params = FetchParams(FetchIsolation.LOG_END, 0, 1, 1 << 20)
    wanted = [PartitionFetch(place, offset, 1 << 20) for place in places]
    broker.manager.fetch_records(params, wanted)


async def test_what_was_asked_of_a_partition_is_counted(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        t1 = TopicPartition("t", 1)
        assert broker.manager.traffic(t0) == NO_TRAFFIC
        append(broker, t0)
        for _ in range(2):  # the second one repeats the first
            append(broker, t0, producer_id=1, producer_epoch=0, base_sequence=0)
        append(broker, t0, base_offset=5)  # refused
        fetch(broker, t0, t1, NOWHERE)
        fetch(broker, t0, offset=99)
        assert broker.manager.traffic(t0) == Traffic(
            bytes_in=2 * SIZE,
            bytes_out=2 * SIZE,
            messages_in=2,
            produces=4,
            failed_produces=1,
            fetches=2,
        )
        assert broker.manager.traffic(t1) == Traffic(fetches=1)
        broker.manager.partition(t1).refuse(KafkaStorageError("offline"))
        fetch(broker, t1)
        assert broker.manager.traffic(t1) == Traffic(fetches=2, failed_fetches=1)


async def test_who_waits_for_the_same_is_counted_each(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        params = FetchParams(FetchIsolation.HIGH_WATERMARK, 500, 1, 1 << 20)
        wanted = [PartitionFetch(t0, 0, 1 << 20)]
        waiting = [broker.manager.fetch_records(params, wanted) for _ in range(3)]
        assert broker.manager.traffic(t0).fetches == 0, "when they are answered"
        append(broker, t0)
        await broker.commit()
        for each in waiting:
            await each
        assert broker.manager.traffic(t0).fetches == 3


async def test_what_a_deleted_topic_had_is_not_forgotten(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        before = broker.manager.traffic(t0)
        assert broker.manager.past_traffic == NO_TRAFFIC
        await broker.manager.stop([t0, NOWHERE])
        assert broker.manager.past_traffic == before
        assert broker.manager.traffic(t0) == NO_TRAFFIC
