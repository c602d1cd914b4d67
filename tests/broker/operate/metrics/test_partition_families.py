import asyncio
from pathlib import Path

import pytest

from odradek.broker.handlers.topics.topic_deletion import delete_topics
from odradek.broker.operate.metrics.exposition import exposition
from odradek.broker.operate.metrics.partition_families import PartitionFamilies
from odradek.broker.upkeep import moving
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.node.test_server import (
    create_topic,
    fetch,
    produce,
    running,
    with_client,
)
from tests.broker.operate.metrics.served import HTTP, Samples, read, scraped
from tests.fakes.broker import until
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.fakes.two_directories import two_directories


def told(broker: Replicas) -> Samples:
    """What there is to tell of all topics, without a server."""
    made = PartitionFamilies(broker.services)
    for topic in broker.topics:
        for _ in made.add(topic):
            pass
    return read("".join(map(exposition, made)))


def append(broker: Replicas, place: TopicPartition, **options: int | bool) -> None:
    batch = batch_of(b"v", **options)
    results = broker.manager.append_records({place: batch}, acks=1, timeout_ms=1000)
    assert results[place].error_code == 0


async def test_what_was_appended_is_counted(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        for _ in range(3):
            await with_client(server, produce)
        found = await scraped(server)
    assert found["kafka_topic_partitions"]["t",] == 1
    assert found["kafka_topic_partition_current_offset"]["t", "0"] == 3
    assert found["kafka_log_log_logendoffset"]["t", "0"] == 3
    assert found["kafka_log_log_size"]["t", "0"] > 3 * 61
    assert found["odradek_partition_undurable_offsets"]["t", "0"] == 0
    messages = found["kafka_server_brokertopicmetrics_messagesin_total"]
    assert messages == {("t",): 3, (): 3}
    size = found["kafka_server_brokertopicmetrics_bytesin_total"]["t",]
    assert size == found["kafka_log_log_size"]["t", "0"]


async def test_what_was_there_before_the_start_is_not_counted(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, produce)
        found = await scraped(server)
    assert found["kafka_topic_partition_current_offset"]["t", "0"] == 2
    assert found["kafka_server_brokertopicmetrics_messagesin_total"]["t",] == 1


async def test_a_partition_that_was_never_written_is_empty(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        found = await scraped(server)
    assert found["kafka_topic_partition_current_offset"] == {("t", "0"): 0}
    assert "kafka_log_log_size" not in found


async def test_a_partition_is_told_with_its_start_and_its_segments(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        for _ in range(3):
            append(broker, t0)
        log = broker.log_of(t0)
        log.roll(0)
        append(broker, t0)
        await broker.commit()
        broker.manager.delete_records({t0: 2}, 1000)
        found = told(broker)
    place = ("t", "0")
    assert found["kafka_log_log_logstartoffset"] == {place: 2}
    assert found["kafka_topic_partition_oldest_offset"] == {place: 2}
    assert found["kafka_log_log_logendoffset"] == {place: 4}
    assert found["kafka_log_log_numlogsegments"] == {place: 2}


async def test_requests_and_refusals_are_counted_for_each_topic_and_for_all(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        await with_client(server, create_topic)
        for _ in range(2):
            await with_client(server, produce)
        await with_client(server, fetch)
        entries = {
            TopicPartition("t", 0): batch_of(bytes(2 << 20)),
            TopicPartition("nowhere", 0): batch_of(b"v", base_offset=1),
        }
        manager = server.services.replica_manager
        manager.append_records(entries, acks=1, timeout_ms=1000)
        found = await scraped(server)

    def counted(name: str) -> dict[tuple[str, ...], float]:
        return found[f"kafka_server_brokertopicmetrics_{name}_total"]

    assert counted("totalproducerequests") == {("t",): 3, (): 3}
    assert counted("failedproducerequests") == {("t",): 0, (): 0}
    assert counted("totalfetchrequests") == {("t",): 1, (): 1}
    assert counted("failedfetchrequests") == {("t",): 0, (): 0}
    size = len(batch_of(bytes(2 << 20)))
    assert counted("bytesrejected") == {("t",): size, (): size}
    assert counted("nokeycompactedtopicrecords") == {(): 0}


async def test_flaws_are_counted_by_what_they_are(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(cleanup_policy="compact")
        append(broker, t0)
        damaged = batch_of(b"v")
        damaged[-1] ^= 1
        keyless = batch_of(b"a", b"b", key=None)
        for batch in (damaged, keyless, keyless):
            broker.manager.append_records({t0: batch}, acks=1, timeout_ms=1000)
        found = told(broker)
    assert {
        name.removeprefix("kafka_server_brokertopicmetrics_"): samples[()]
        for name, samples in found.items()
        if "records_total" in name
    } == {
        "nokeycompactedtopicrecords_total": 4,
        "invalidmagicnumberrecords_total": 0,
        "invalidmessagecrcrecords_total": 1,
        "invalidoffsetorsequencerecords_total": 0,
    }


async def test_the_sum_keeps_what_a_deleted_topic_had(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0, gone = await broker.create_topic(), await broker.create_topic("gone")
        append(broker, t0)
        append(broker, gone)
        topic = broker.topics.known("gone")
        await delete_topics(broker.services, [topic.topic_id])
        found = told(broker)
    produces = found["kafka_server_brokertopicmetrics_totalproducerequests_total"]
    assert produces == {("t",): 1, (): 2}


async def test_producers_and_transactions_that_are_late_are_told(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        writer = {"producer_epoch": 0, "base_sequence": 0}
        append(broker, t0, producer_id=1, **writer)
        append(broker, t0, producer_id=2, is_transactional=True, **writer)
        append(broker, TopicPartition("t", 1), producer_id=1, **writer)
        producers = told(broker)["kafka_server_replicamanager_produceridcount"]
        assert producers == {(): 3}
        late = "kafka_server_replicamanager_partitionswithlatetransactionscount"
        limit_ms = broker.config.transaction_max_timeout_ms + 5 * 60_000
        broker.clock.advance(limit_ms)
        assert told(broker)[late] == {(): 0}
        broker.clock.advance(1)
        assert told(broker)[late] == {(): 1}


async def test_a_copy_that_is_being_made_is_told_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "CHUNK_BYTES", 5_000)
    may_go_on = asyncio.Event()

    async def pause(_: moving.Moving, move: moving.Move) -> None:
        if move.size > 20_000:  # a segment, and a part of the next one
            await may_go_on.wait()

    monkeypatch.setattr(moving.Moving, "_pace", pause)
    async with two_directories(tmp_path, http_listener=HTTP) as disks:
        await disks.fill(60)
        await disks.begin(disks.other)
        (move,) = disks.moving.moves.values()
        try:
            await until(lambda: move.size > 20_000)
            found = await scraped(disks.server)
            itself, copy = ("t", "0"), ("t", "0", "true")
            for name in ("size", "numlogsegments", "logendoffset", "logstartoffset"):
                assert set(found[f"kafka_log_log_{name}"]) == {itself, copy}
            assert 20_000 < found["kafka_log_log_size"][copy] < move.log.size
            assert found["kafka_log_log_numlogsegments"][copy] == 2
            assert found["kafka_log_log_logstartoffset"][copy] == 0
            ends = found["kafka_log_log_logendoffset"]
            assert move.log.local.segments.first.reader.end.limit <= ends[copy]
            assert ends[copy] < ends[itself]
        finally:
            may_go_on.set()
        await disks.moved()
        sizes = (await scraped(disks.server))["kafka_log_log_size"]
        assert set(sizes) == {itself}
