"""Reading from the log of a partition, syncing it, and ending it."""

import pytest

from protocol.errors import (
    KafkaStorageError,
    OffsetOutOfRange,
)
from storage.files import StorageFailure
from storage.log_read import FetchIsolation
from tests.fakes.files import FakeFiles

from .logs import (
    EPOCH,
    NOW,
    Producer,
    new_log,
    offsets,
    produce,
    read_all,
    sync,
)

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
COMMITTED = FetchIsolation.TXN_COMMITTED
IDEMPOTENT = Producer(7, 0, 0)


# Reads


def test_t033_read_at_leo_empty_beyond_leo_error_1_below_start_error_1() -> None:
    log = new_log()
    produce(log, 5)
    sync(log)
    assert not len(log.read(5, 1000).records)
    with pytest.raises(OffsetOutOfRange):
        log.read(6, 1000)
    log.increment_log_start(3)
    with pytest.raises(OffsetOutOfRange):
        log.read(2, 1000)
    assert len(log.read(3, 1000).records)


def test_t034_consumer_between_hw_and_leo_gets_nothing_and_no_error() -> None:
    log = new_log()
    produce(log, 5)
    sync(log)
    produce(log, 5)
    for offset in (5, 7, 10):
        data = log.read(offset, 1000)
        assert not len(data.records)
        assert data.offset_metadata.offset == offset
    assert len(log.read(7, 1000, FetchIsolation.LOG_END).records)


def test_a_consumer_sees_nothing_above_the_high_watermark() -> None:
    log = new_log()
    for _ in range(20):
        produce(log, 3)
    sync(log)
    for _ in range(20):
        produce(log, 3)
    assert len(read_all(log, HIGH_WATERMARK)) == 60


def test_t041_an_append_does_not_change_what_was_read_before() -> None:
    log = new_log(segment_bytes=10_000)
    produce(log, 5)
    sync(log)
    before = (log.high_watermark, log.last_stable_offset, log.log_start_offset)
    data = log.read(0, 10_000)
    kept = bytes(data.records)
    produce(log, 5)
    sync(log)
    assert before == (5, 5, 0)
    assert data.records == kept


def test_only_committed_readers_are_told_of_aborted_transactions() -> None:
    log = new_log()
    produce(log)
    sync(log)
    assert log.read(0, 1000, COMMITTED).aborted == []
    assert log.read(0, 1000).aborted is None


# Sync


def test_a_sync_makes_durable_what_was_there_when_it_began() -> None:
    log = new_log()
    produce(log, 3)
    ticket = log.begin_sync()
    assert ticket is not None
    produce(log, 3)
    assert log.recovery_point == 0
    ticket.run()
    log.finish_sync(ticket)
    assert log.recovery_point == 3
    assert log.durable_end.offset == 3


def test_a_durable_log_needs_no_sync() -> None:
    log = new_log()
    produce(log)
    sync(log)
    assert log.begin_sync() is None


def test_a_failed_log_shows_what_is_durable_and_takes_nothing() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3)
    sync(log)
    produce(log, 3)
    log.update_high_watermark(6)  # as with durability=none
    ticket = log.begin_sync()
    assert ticket is not None
    files.fail("sync")
    with pytest.raises(StorageFailure) as raised:
        ticket.run()
    log.fail(raised.value)
    assert log.high_watermark == 3
    assert offsets(log) == [0, 1, 2]
    assert log.begin_sync() is None
    assert not log.update_high_watermark(6)
    with pytest.raises(KafkaStorageError):
        produce(log)
    with pytest.raises(KafkaStorageError):
        log.increment_log_start(1)


def test_a_closed_log_is_durable_with_its_last_index_entries() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3)
    sync(log, with_snapshot=True)
    assert log.close()
    before = {path: files.content(path) for path in files.paths()}
    assert files.content("00000000000000000000.timeindex")
    files.power_cut()
    assert {path: files.content(path) for path in files.paths()} == before


def test_time_is_looked_up() -> None:
    log = new_log()
    for number in range(10):
        produce(log, 2, timestamp=NOW + 10 * number)
    found = log.find_offset(NOW + 35)
    assert found == (NOW + 40, 8, EPOCH)
    assert log.find_offset(NOW + 91) is None


def test_options_can_change() -> None:
    log = new_log(segment_bytes=1000)
    produce(log)
    other = new_log(segment_bytes=100_000)
    log.update_config(other.config)
    produce(log, value=bytes(5000))
    assert len(log.local.segments) == 1
