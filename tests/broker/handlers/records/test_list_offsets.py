from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.list_offsets import (
    handle_list_offsets,
    refuse_list_offsets,
)
from odradek.protocol.errors import ErrorCode, UnsupportedVersion
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import ColdRead
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, NOW_MS, Replicas, batch_of, replicas
from tests.garbage import garbage

T0 = TopicPartition("t", 0)


def request(*wanted: ListOffsetsPartition, **fields: Any) -> ListOffsetsRequest:
    fields.setdefault("replica_id", -1)
    topic = ListOffsetsTopic(name="t", partitions=list(wanted))
    return ListOffsetsRequest(topics=[topic], **fields)


def at(timestamp: int, partition: int = 0, epoch: int = -1) -> ListOffsetsPartition:
    return ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
    )


def ask(
    broker: Replicas, *wanted: ListOffsetsPartition, version: int = 11, **fields: Any
) -> ListOffsetsPartitionResponse:
    answer = handle_list_offsets(broker.context(version), request(*wanted, **fields))
    answer.encode(version)
    (topic,) = answer.topics
    (found,) = topic.partitions
    return found


def found(offset: int, timestamp: int = -1, epoch: int = 0) -> Any:
    return ListOffsetsPartitionResponse(
        partition_index=0, offset=offset, timestamp=timestamp, leader_epoch=epoch
    )


NOTHING = found(-1, epoch=-1)


def append(broker: Replicas, *values: bytes, **options: Any) -> None:
    batch = batch_of(*values, **options)
    results = broker.manager.append_records({T0: batch}, acks=1, timeout_ms=1000)
    assert results[T0].error_code == ErrorCode.NONE


def replicate(broker: Replicas) -> None:
    """Let another replica hold the partition, which does not fetch."""
    broker.manager.cluster = FakeCluster()
    broker.manager.partition(T0).make_leader(led_by(1, 1, 2))


async def test_places_of_the_log(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a", b"b", b"c", step_ms=1000)
        await broker.commit()
        assert ask(broker, at(-1)) == found(3)
        assert ask(broker, at(-2)) == found(0)
        assert ask(broker, at(-3)) == found(2, NOW_MS + 2000)
        assert ask(broker, at(-4)) == found(0)
        assert ask(broker, at(-5)) == NOTHING
        assert ask(broker, at(-6)) == NOTHING


@pytest.mark.parametrize("version", range(1, 12))
async def test_the_end_is_answered_in_every_version(
    tmp_path: Path, version: int
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        await broker.commit()
        assert ask(broker, at(-1), version=version).offset == 1


async def test_an_empty_log(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        for place in (-1, -2, -4):
            assert ask(broker, at(place)) == found(0)
        for nowhere in (-3, -5, 0, NOW_MS):
            assert ask(broker, at(nowhere)) == NOTHING
        assert not broker.logs.logs()


async def test_the_first_record_that_is_not_earlier(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a", b"b", b"c", step_ms=1000)
        await broker.commit()
        assert ask(broker, at(0)) == found(0, NOW_MS)
        assert ask(broker, at(NOW_MS)) == found(0, NOW_MS)
        assert ask(broker, at(NOW_MS + 500)) == found(1, NOW_MS + 1000)
        assert ask(broker, at(NOW_MS + 2001)) == NOTHING


async def test_t047_list_offsets_timestamp_beyond_hw_returns_minus_one_none(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        await broker.commit()
        replicate(broker)
        append(broker, b"b", timestamp=NOW_MS + 5000)
        await broker.commit()
        assert ask(broker, at(NOW_MS + 1)) == NOTHING
        assert ask(broker, at(-3)) == NOTHING
        assert ask(broker, at(-1)) == found(1)
        debugging = ask(broker, at(-1), replica_id=-2)
        assert debugging == found(2), "a debugging reader sees the log end"
        broker.log_of(T0).visibility.raise_to(2)
        assert ask(broker, at(NOW_MS + 1)) == found(1, NOW_MS + 5000)


async def test_read_committed_ends_at_the_last_stable_offset(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        append(
            broker,
            b"b",
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        await broker.commit()
        assert ask(broker, at(-1)) == found(2)
        assert ask(broker, at(-1), isolation_level=1) == found(1)
        assert ask(broker, at(-1), isolation_level=5).error_code == (
            ErrorCode.INVALID_REQUEST
        )


async def test_t049_duplicate_partition_in_list_offsets_42(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(partitions=2)
        asked = request(at(-1), at(-2), at(-1, partition=1))
        answer = handle_list_offsets(broker.context(7), asked)
        twice, once = answer.topics[0].partitions
        assert twice.error_code == ErrorCode.INVALID_REQUEST
        assert once.error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("timestamp", "version"), [(-3, 6), (-4, 7), (-5, 8), (-6, 10), (-7, 11)]
)
async def test_t049_questions_that_the_version_does_not_know_35(
    tmp_path: Path, timestamp: int, version: int
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        answer = ask(broker, at(timestamp), version=version)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert (answer.offset, answer.leader_epoch) == (-1, -1)


async def test_leader_epochs_are_fenced(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        broker.manager.partition(T0).leadership.epoch = 2
        assert ask(broker, at(-1, epoch=1)).error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert ask(broker, at(-1, epoch=3)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert ask(broker, at(-1, epoch=2)) == found(0, epoch=2)


async def lagging(broker: Replicas) -> None:
    """Three records, of which this leader knows one to be replicated."""
    await broker.create_topic()
    append(broker, b"a")
    await broker.commit()
    append(broker, b"b", b"c", step_ms=1000)
    broker.manager.partition(T0).make_leader(
        led_by(1, 1, replicas=(1,), leader_epoch=7)
    )


@pytest.mark.parametrize(
    ("version", "error_code"),
    [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)],
)
async def test_t048_list_offsets_after_election_hw_lags(
    tmp_path: Path, version: int, error_code: int
) -> None:
    async with replicas(tmp_path) as broker:
        await lagging(broker)
        for isolation_level in (0, 1):
            asked = {"version": version, "isolation_level": isolation_level}
            assert ask(broker, at(-1), **asked).error_code == error_code
            assert ask(broker, at(NOW_MS + 1), **asked).error_code == error_code
            assert ask(broker, at(-2), **asked) == found(0), "earliest is served"
            assert ask(broker, at(0), **asked) == found(0, NOW_MS), "and what is sure"
            assert ask(broker, at(NOW_MS + 9000), **asked) == NOTHING
        assert ask(broker, at(-1), version=version, replica_id=-2) == found(3, epoch=7)
        assert ask(broker, at(-1), version=version, replica_id=5) == found(3, epoch=7)
        await broker.commit()
        assert ask(broker, at(-1), version=version) == found(3, epoch=7)


@pytest.mark.parametrize("version", [8, 11])
async def test_t048_the_local_start_and_the_largest_timestamp(
    tmp_path: Path, version: int
) -> None:
    async with replicas(tmp_path) as broker:
        await lagging(broker)
        assert ask(broker, at(-4), version=version) == found(0)
        largest = ask(broker, at(-3), version=version)
        assert largest.error_code == ErrorCode.OFFSET_NOT_AVAILABLE


async def test_only_a_debugging_consumer_may_ask_a_follower(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        await broker.commit()
        append(broker, b"b")
        broker.manager.partition(T0).make_follower(led_by(2, leader_epoch=4))
        not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert ask(broker, at(-1)).error_code == not_leader
        assert ask(broker, at(-1), replica_id=2).error_code == not_leader
        assert ask(broker, at(-1), replica_id=-2) == found(2, epoch=4)
        fenced = ask(broker, at(-1, epoch=3), replica_id=-2)
        assert fenced.error_code == ErrorCode.FENCED_LEADER_EPOCH


async def test_places_by_isolation(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        transactional = {
            "producer_id": 7,
            "producer_epoch": 0,
            "base_sequence": 0,
            "is_transactional": True,
        }
        append(broker, b"a")
        append(broker, b"b", timestamp=NOW_MS + 1000, **transactional)
        append(broker, b"c", timestamp=NOW_MS + 2000)
        await broker.commit()
        replicate(broker)
        append(broker, b"d", timestamp=NOW_MS + 3000)
        committed = {"isolation_level": 1}
        assert ask(broker, at(-1), **committed) == found(1)
        assert ask(broker, at(-2), **committed) == found(0)
        assert ask(broker, at(-3), **committed) == NOTHING
        assert ask(broker, at(-4), **committed) == found(0)
        assert ask(broker, at(-5), **committed) == NOTHING
        assert ask(broker, at(-6), **committed) == NOTHING
        assert ask(broker, at(NOW_MS + 500), **committed) == NOTHING
        assert ask(broker, at(NOW_MS + 500)) == found(1, NOW_MS + 1000)
        assert ask(broker, at(-3)) == NOTHING, "that record is above the watermark"
        assert ask(broker, at(-3), replica_id=-2) == found(3, NOW_MS + 3000)


async def test_unknown_partitions(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        answer = ask(broker, at(-1, partition=5))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_cold_bytes_and_unopened_logs_are_waited_for(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic()
        append(broker, b"a", b"b", step_ms=1000)
        await broker.commit()
        files.chill("00000000000000000000.log")
        asked = request(at(NOW_MS + 1))
        answer = await handle_list_offsets(broker.context(11), asked)
        assert answer.topics[0].partitions == [found(1, NOW_MS + 1000)]
    async with replicas(tmp_path, files) as broker:
        files.chill("00000000000000000000.log")
        answer = await handle_list_offsets(broker.context(11), asked)
        assert answer.topics[0].partitions == [found(1, NOW_MS + 1000)]
    async with replicas(tmp_path, files) as broker:
        answer = await handle_list_offsets(broker.context(11), request(at(-1)))
        assert answer.topics[0].partitions == [found(2)]


async def test_a_look_into_cold_logs_leaves_nothing_behind(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic(partitions=2)
        for partition in range(2):
            batch = batch_of(b"v")
            broker.manager.append_records(
                {TopicPartition("t", partition): batch}, acks=1, timeout_ms=1000
            )
        await broker.commit()
        for partition in range(2):
            files.chill(str(LOG_DIR / f"t-{partition}" / "00000000000000000000.log"))
        asked = request(at(NOW_MS), at(NOW_MS, partition=1))
        with garbage() as found:
            answer = await handle_list_offsets(broker.context(11), asked)
            assert [each.offset for each in answer.topics[0].partitions] == [0, 0]
        assert not [each for each in found if isinstance(each, ColdRead)]


def test_a_request_that_fails_as_a_whole_names_every_partition() -> None:
    answer = refuse_list_offsets(request(at(-1)), UnsupportedVersion())
    (refused,) = answer.topics[0].partitions
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
