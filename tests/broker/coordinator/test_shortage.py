import errno
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.records import CommittedOffset, OffsetRecord
from odradek.broker.coordinator.shortage import ROOM_BYTES_MIN, Shortage
from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.broker.replica.logs.written_partitions import RETRY_MS
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.disk_reserve import PROBE_NAME
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, full_catalog, replicas

OFFSETS = TopicPartition(CONSUMER_OFFSETS, 0)


class Disk:
    """A disk that the test fills, and makes room on."""

    def __init__(self, broker: Replicas) -> None:
        self.free_bytes = ROOM_BYTES_MIN
        self.measured = 0
        services = broker.services
        self.shortage = Shortage(
            config=services.config,
            topics=services.metadata,
            replica_manager=services.replica_manager,
            files=services.log_manager.files,
            disk_threads=services.disk_threads,
            coordinators=lambda: (
                services.groups.runtime,
                services.transactions.runtime,
            ),
            measure=self.measure,
        )

    def measure(self, directory: Path) -> int:
        assert directory == LOG_DIR
        self.measured += 1
        return self.free_bytes

    async def reasons(self) -> list[str]:
        await self.shortage.look()
        return list(self.shortage.reasons())


def append(broker: Replicas, partition: TopicPartition) -> Any:
    entries = {partition: batch_of(b"v")}
    return broker.manager.append_records(entries, acks=-1, timeout_ms=30_000)


async def test_a_directory_is_full_from_a_refusal_until_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        disk, t0 = Disk(broker), await broker.create_topic()
        append(broker, t0)
        disk.free_bytes = ROOM_BYTES_MIN - 1
        assert await disk.reasons() == []
        assert disk.measured == 0  # nothing was refused
        broker.files.fail("append", error=errno.ENOSPC)
        append(broker, t0)
        reason = f"{LOG_DIR} has no room: what is written to it is refused"
        assert await disk.reasons() == [reason]
        append(broker, t0)  # small ones may still find room
        assert await disk.reasons() == [reason]
        disk.free_bytes = ROOM_BYTES_MIN
        broker.files.fail("append", error=errno.EDQUOT)
        assert await disk.reasons() == [reason]
        assert await disk.reasons() == []
        measured = disk.measured
        assert await disk.reasons() == []
        assert disk.measured == measured
        assert LOG_DIR / PROBE_NAME not in broker.files.paths()
    lines = [record.message for record in caplog.records]
    assert lines == [reason, f"{LOG_DIR} has room again"]


async def test_a_large_batch_that_finds_no_room_is_no_full_disk(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        disk, t0 = Disk(broker), await broker.create_topic()
        append(broker, t0)
        broker.files.fail("append", error=errno.ENOSPC)
        append(broker, t0)
        assert await disk.reasons() == []
        assert broker.manager.appends.no_room_count == 1


async def test_the_coordinators_of_a_full_directory_are_told(tmp_path: Path) -> None:
    async with replicas(tmp_path, offsets_topic_num_partitions=3) as broker:
        groups = broker.services.groups
        await groups.create_topic()
        groups.load_all()
        await groups.runtime.loaded()
        disk = Disk(broker)
        assert disk.shortage.coordinators == []
        for nth in 1, 2:  # partition.metadata, which can wait, and the record
            broker.files.fail("append", nth=nth, error=errno.ENOSPC)
        commit(broker, "a group")
        disk.free_bytes = 0
        first, second = await disk.reasons()
        assert first == f"{LOG_DIR} has no room: what is written to it is refused"
        names = [f"{CONSUMER_OFFSETS}-{number}" for number in range(3)]
        assert second == f"coordinators without room: {', '.join(names)}"
        disk.free_bytes = ROOM_BYTES_MIN
        assert await disk.reasons() == []


async def test_what_waits_for_the_catalogue_is_told(tmp_path: Path) -> None:
    async with replicas(tmp_path, offsets_topic_num_partitions=1) as broker:
        groups = broker.services.groups
        await groups.create_topic()
        groups.load_all()
        partitions = [await broker.create_topic(name) for name in "abcd"]
        disk = Disk(broker)
        with full_catalog(broker.catalog):
            for partition in partitions:
                append(broker, partition)
            commit(broker, "a group")
            await broker.commit()
            assert await disk.reasons() == [
                "wait for room in the catalogue: a-0, b-0, c-0 and 2 more",
                f"coordinators without room: {OFFSETS}",
            ]
        broker.clock.advance(RETRY_MS)
        await broker.manager.recorded()
        assert await disk.reasons() == []


def commit(broker: Replicas, group_id: str) -> Any:
    record = OffsetRecord(group_id, "t", 0, CommittedOffset(7))
    return broker.services.groups.runtime.act(
        group_id, lambda _: Decision(0, [record]), lambda error: error.code
    )
