from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import LeaderAndIsr, ReplicaState
from odradek.broker.replica.partition.view import Until
from odradek.protocol.errors import (
    ErrorCode,
    KafkaStorageError,
    NotLeaderOrFollower,
    OffsetOutOfRange,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.local.offset_lookup import EARLIEST, MAX_TIMESTAMP
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import Surroundings, create_log
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import FetchIsolation, TimestampOffset
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS, FakeCommitter, batch_of

T0 = TopicPartition("t", 0)


class FakeHost:
    """A replica manager that only notes what it is asked for."""

    def __init__(self, bounds_by_durability: bool = True) -> None:
        self.bounds_by_durability = bounds_by_durability
        self.calls: list[str] = []
        self.committer = FakeCommitter()
        self.cluster: Any = None

    def begin_log(self, partition: Partition) -> UnifiedLog:
        if partition.log is not None:
            return partition.log
        log = create_log(
            T0,
            partition.topic_id,
            Path("/logs/t-0"),
            partition.config,
            Surroundings(FakeFiles(), NOW_MS),
        )
        directory: Any = self.committer.for_directory(Path("/logs"))
        partition.use_log(log, directory)
        return log

    def record_written(self, partition: Partition) -> None:
        self.calls.append("record")

    def check_waiting(self, partition: Partition) -> None:
        self.calls.append("check")

    def check_all_waiting(self, partition: Partition) -> None:
        self.calls.append("check all")

    def check_log_end_fetches(self, partition: Partition) -> None:
        self.calls.append("check log end")

    def sync_within(self, partition: Partition, delay_ms: int) -> None:
        self.calls.append(f"sync within {delay_ms}")


def partition(host: FakeHost, **options: Any) -> Partition:
    config = LogConfig(**options)
    return Partition(T0, bytes(16), 3, config, ReplicaState((1,), (1,)), host)


def append(to: Partition, acks: int = -1) -> int:
    info = to.append(batch_of(b"v"), acks, AppendOrigin.CLIENT, NOW_MS)
    return info.last_offset + 1


def test_the_high_watermark_follows_the_durable_offset() -> None:
    host = FakeHost()
    led = partition(host)
    led.is_written = True
    append(led)
    assert (led.view.log_end_offset, led.view.high_watermark, host.calls) == (1, 0, [])
    host.committer.sync()
    assert (led.view.high_watermark, host.calls) == (1, ["check all"])


def test_without_commit_it_follows_the_log_end() -> None:
    host = FakeHost(bounds_by_durability=False)
    led = partition(host)
    append(led)
    assert (led.view.high_watermark, host.calls) == (1, ["check"])
    host.committer.sync()
    assert host.calls == ["check", "record", "check all"]


@pytest.mark.parametrize(("in_sync", "calls"), [((1, 2), []), ((1,), ["check"])])
def test_an_append_that_moves_nothing_wakes_nobody(
    in_sync: tuple[int, ...], calls: list[str]
) -> None:
    host = FakeHost(bounds_by_durability=False)
    host.cluster = FakeCluster()
    led = partition(host)
    led.make_leader(led_by(1, *in_sync, leader_epoch=4))
    append(led, acks=1)
    assert (host.calls, led.view.high_watermark) == (calls, len(calls))
    led.log_end_fetch_count = 1
    append(led, acks=1)
    assert host.calls[len(calls) :] == (calls or ["check log end"])


def test_it_does_not_rise_before_the_partition_is_known_to_be_written() -> None:
    host = FakeHost()
    led = partition(host)
    append(led)
    host.committer.sync()
    assert (led.view.high_watermark, host.calls) == (0, ["record"])
    led.on_written()
    assert (led.view.high_watermark, host.calls) == (1, ["record", "check all"])


def test_what_was_appended_after_the_sync_began_waits_for_the_next() -> None:
    host = FakeHost()
    led = partition(host)
    led.is_written = True
    append(led)
    ticket = led.begin_sync()
    append(led)
    ticket.run()
    led.finish_sync(ticket)
    led.on_durable()
    assert (led.view.high_watermark, led.view.log_end_offset) == (1, 2)
    (directory,) = host.committer.directories.values()
    assert led in directory.dirty, "the second append marked it again"


def test_an_acknowledgement_is_open_until_the_high_watermark_passes() -> None:
    host = FakeHost()
    led = partition(host)
    led.is_written = True
    next_offset = append(led)
    assert led.view.acknowledgement(next_offset, Until.REPLICATED) is None
    host.committer.sync()
    assert led.view.acknowledgement(next_offset, Until.REPLICATED) == ErrorCode.NONE


def test_reads_of_a_partition_without_files() -> None:
    led = partition(FakeHost())
    read = led.view.read(0, 100, FetchIsolation.HIGH_WATERMARK, min_one=True)
    assert (bytes(read.records), read.aborted) == (b"", None)
    with pytest.raises(OffsetOutOfRange):
        led.view.read(1, 100, FetchIsolation.HIGH_WATERMARK, min_one=True)
    assert led.view.find_offset(EARLIEST) == TimestampOffset(-1, 0, 3)
    assert led.view.find_offset(MAX_TIMESTAMP) is None
    assert led.view.epoch_end_offset(3) == (3, 0)
    assert led.view.epoch_end_offset(4) == (-1, -1)
    assert led.view.diverging_epoch(0, 3) is None
    with pytest.raises(OffsetOutOfRange):
        led.view.diverging_epoch(0, 4)


def test_a_refusal_does_not_gather_tracebacks() -> None:
    led = partition(FakeHost())
    led.refuse(KafkaStorageError("the directory is gone"))
    for _ in range(2):
        with pytest.raises(KafkaStorageError, match="the directory is gone") as caught:
            led.leadership.check()
        assert caught.value is not led.leadership.refusal
    assert led.begin_sync() is None


def test_a_follower_refuses_appends() -> None:
    led = partition(FakeHost())
    led.make_follower(LeaderAndIsr(2, 4, (1, 2), (1, 2)))
    with pytest.raises(NotLeaderOrFollower):
        append(led)


def test_flush_options_ask_for_syncs() -> None:
    host = FakeHost(bounds_by_durability=False)
    led = partition(host, flush_messages=2, flush_ms=700)
    append(led)
    assert host.calls == ["sync within 700", "check"]
    assert not led.must_sync_now(NOW_MS)
    assert led.must_sync_now(NOW_MS + 700)
    append(led)
    assert led.must_sync_now(NOW_MS)
    assert led.view.acknowledgement(2, Until.SYNCED) is None
    host.committer.sync()
    assert led.view.acknowledgement(2, Until.SYNCED) == ErrorCode.NONE
    assert not led.must_sync_now(NOW_MS + 5000), "nothing is dirty"


def test_a_reader_of_the_log_end_is_told_of_appends() -> None:
    host = FakeHost()
    led = partition(host)
    append(led)
    led.log_end_fetch_count = 1
    append(led)
    assert host.calls == ["check log end"]


def test_a_failed_log_keeps_what_was_acknowledged() -> None:
    host = FakeHost()
    led = partition(host)
    led.is_written = True
    append(led)
    host.committer.sync()
    append(led)
    led.fail(KafkaStorageError("a sync failed"))
    assert led.view.acknowledgement(1, Until.REPLICATED) == ErrorCode.NONE
    lost = led.view.acknowledgement(2, Until.REPLICATED)
    assert lost == ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaStorageError):
        append(led)
