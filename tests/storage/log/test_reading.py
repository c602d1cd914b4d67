"""Reading from the log of a partition, by offset and by time."""

import pytest

from odradek.protocol.errors import KafkaStorageError, OffsetOutOfRange
from odradek.protocol.record_batch import scan
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.storage.logs import (
    EPOCH,
    NOW,
    Producer,
    filled,
    new_log,
    produce,
    read_all,
    sync,
)

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
IDEMPOTENT = Producer(7, 0, 0)


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


def test_time_is_looked_up() -> None:
    log = new_log()
    for number in range(10):
        produce(log, 2, timestamp=NOW + 10 * number)
    found = log.reading.find_offset(NOW + 35)
    assert found == (NOW + 40, 8, EPOCH)
    assert log.reading.find_offset(NOW + 91) is None


def test_a_high_watermark_without_a_place_is_looked_for_by_a_read() -> None:
    log = filled(batches=4)
    log._watermarks.high = OffsetMetadata(6)
    data = log.read(0, 1 << 20)
    assert [header.base_offset for _, header in scan(data.records)] == [0, 3]
    assert log._watermarks.high.segment_base_offset == 0


def test_a_follower_at_the_end_finds_what_a_read_finds() -> None:
    log = new_log()
    produce(log, 5)
    found = log.reading.end_for_follower(5, EPOCH)
    read = log.read(5, 1000, FetchIsolation.LOG_END)
    assert found == read.offset_metadata
    for offset in (4, 6):
        assert log.reading.end_for_follower(offset, EPOCH) is None


def test_a_follower_of_another_epoch_has_to_be_looked_at() -> None:
    log = new_log()
    produce(log, 5)
    log.assign_epoch(EPOCH + 1)
    assert log.reading.end_for_follower(5, EPOCH) is None
    assert log.reading.end_for_follower(5, EPOCH + 1) == log.end_metadata
    assert log.reading.end_for_follower(5, EPOCH + 2) is None


def test_nobody_is_at_the_end_of_a_log_that_has_failed() -> None:
    log = new_log()
    produce(log, 5)
    log.fail(KafkaStorageError("a sync failed"))
    assert log.reading.end_for_follower(5, EPOCH) is None
