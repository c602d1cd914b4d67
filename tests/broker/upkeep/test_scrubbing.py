import errno
from pathlib import Path

import pytest

from odradek.broker.upkeep.scrubbing import SCRUB_TURN_MS, Scrubbing
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.segment.scrubber import SegmentScrub
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

HOUR_MS = 3_600_000
SEGMENT = 200
FIRST = LOG_DIR / "t-0" / "00000000000000000000.log"


def scrubbing(broker: Replicas, bytes_per_second: int = 1 << 20) -> Scrubbing:
    return Scrubbing(
        broker.clock,
        broker.logs,
        broker.threads,
        HOUR_MS,
        bytes_per_second,
        broker.services.bugs,
    )


async def filled(broker: Replicas, count: int = 5) -> TopicPartition:
    """Batches, each in a segment of its own, durable; the last one is not sealed."""
    partition = await broker.create_topic("t", internal_segment_bytes=str(SEGMENT))
    for _ in range(count):
        batch = batch_of(bytes(100))
        broker.manager.append_records({partition: batch}, acks=1, timeout_ms=1000)
    await broker.commit()
    return partition


def sealed_bytes(broker: Replicas, partition: TopicPartition) -> int:
    local = broker.log_of(partition).local
    return local.size - local.active.size


async def test_sealed_segments_are_read_once_an_interval(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker)
        t0 = await filled(broker)
        size = sealed_bytes(broker, t0)
        broker.clock.advance(HOUR_MS - 1)
        await job.scrub()
        assert job.scrubbed_bytes == 0
        broker.clock.advance(1)
        await job.scrub()
        assert job.scrubbed_bytes == size
        await job.scrub()
        assert job.scrubbed_bytes == size
        broker.clock.advance(HOUR_MS)
        await job.scrub()
        assert job.scrubbed_bytes == 2 * size


async def test_a_turn_reads_what_the_rate_allows(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker, bytes_per_second=1)
        t0 = await filled(broker)
        one = sealed_bytes(broker, t0) // 4
        broker.clock.advance(HOUR_MS)
        read = []
        while job.scrubbed_bytes < 4 * one:
            broker.clock.advance(SCRUB_TURN_MS)
            await job.scrub()
            read.append(job.scrubbed_bytes)
        assert sorted(set(read)) == [one, 2 * one, 3 * one, 4 * one]


async def test_damage_is_quarantined_before_anybody_reads_it(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker)
        t0 = await filled(broker)
        broker.files.flip(FIRST, 100)
        broker.clock.advance(HOUR_MS)
        await job.scrub()
        log = broker.log_of(t0)
        [entry] = log.quarantine
        assert (entry.base_offset, entry.last_offset) == (0, 0)
        assert log.read(0, 1000, FetchIsolation.HIGH_WATERMARK).records[57:61] == bytes(
            4
        )
        broker.clock.advance(HOUR_MS)
        await job.scrub()
        assert len(log.quarantine) == 1


async def test_wrong_index_is_written_anew(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker)
        await filled(broker)
        index = FIRST.with_suffix(".timeindex")
        before = broker.files.content(index)
        broker.files.flip(index, len(before) - 1)
        broker.clock.advance(HOUR_MS)
        await job.scrub()
        assert broker.files.content(index) == before


async def test_segments_that_go_meanwhile_are_left_out(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker, bytes_per_second=1)
        t0 = await filled(broker)
        broker.files.flip(FIRST, 100)
        broker.clock.advance(HOUR_MS)
        log = broker.log_of(t0)
        current = job.scrub()
        log.local.remove_segments([log.local.segments.first])
        await current
        assert len(log.quarantine) == 0


async def test_what_nobody_expected_of_one_segment_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker)
        t0 = await filled(broker)
        run = SegmentScrub.run

        def fails_at_first(scrub: SegmentScrub, bytes_max: int) -> bool:
            if scrub.plan.base_offset == 0:
                raise ZeroDivisionError
            return run(scrub, bytes_max)

        monkeypatch.setattr(SegmentScrub, "run", fails_at_first)
        broker.clock.advance(HOUR_MS)
        await job.scrub()
        assert job.scrubbed_bytes == sealed_bytes(broker, t0) * 3 // 4
        assert [type(bug) for bug in broker.bugs] == [ZeroDivisionError]
        assert f"scrub of {FIRST}" in caplog.text
        broker.bugs.clear()


async def test_an_index_without_room_for_it_is_kept_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        job = scrubbing(broker)
        t0 = await filled(broker)
        index = FIRST.with_suffix(".timeindex")
        before = broker.files.content(index)
        broker.files.flip(index, len(before) - 1)
        broker.files.fail("append", error=errno.ENOSPC)
        broker.clock.advance(HOUR_MS)
        await job.scrub()
        assert f"{FIRST} is not put right" in caplog.text
        assert job.scrubbed_bytes == sealed_bytes(broker, t0)
    assert broker.services.bugs.count == 0
    assert broker.files.content(index) == before  # written when it was closed
