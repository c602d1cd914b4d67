"""Offsets by time, and the earliest, the latest, and the one with the largest time."""

from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.local.offset_lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from odradek.storage.values.log_read import FetchIsolation, TimestampOffset
from tests.storage.logs import EPOCH, NOW, Producer, append, new_log, produce, sync

LOG_END, HIGH_WATERMARK, COMMITTED = (
    FetchIsolation.LOG_END,
    FetchIsolation.HIGH_WATERMARK,
    FetchIsolation.TXN_COMMITTED,
)


def test_an_empty_log_has_ends_but_no_times() -> None:
    log = new_log()
    assert log.reading.find_offset(EARLIEST) == (-1, 0, -1)
    assert log.reading.find_offset(LATEST) == (-1, 0, -1)
    assert log.reading.find_offset(MAX_TIMESTAMP) is None
    assert log.reading.find_offset(0) is None


def test_the_first_record_that_is_not_earlier_is_found_across_segments() -> None:
    log = new_log(segment_bytes=300)
    for number in range(50):
        produce(log, 3, timestamp=NOW + 10 * number)
    assert len(log.local.segments) > 10
    for number in range(50):
        assert log.reading.find_offset(NOW + 10 * number) == (
            NOW + 10 * number,
            3 * number,
            4,
        )
        later = log.reading.find_offset(NOW + 10 * number + 1)
        assert (later.offset if later else None) == (
            3 * number + 3 if number < 49 else None
        )


def test_times_need_not_be_in_order() -> None:
    log = new_log(segment_bytes=300)
    times = [50, 20, 80, 10, 60, 80, 5]
    for time in times:
        produce(log, timestamp=NOW + time)
    for wanted in range(90):
        expected = [place for place, time in enumerate(times) if time >= wanted]
        found = log.reading.find_offset(NOW + wanted)
        assert (found.offset if found else None) == (expected[0] if expected else None)
    assert log.reading.find_offset(MAX_TIMESTAMP) == (NOW + 80, 2, 4)


def test_what_was_given_up_is_not_found() -> None:
    log = new_log()
    for number in range(10):
        produce(log, timestamp=NOW + number)
    sync(log)
    log.increment_log_start(4)
    assert log.reading.find_offset(NOW) == (NOW + 4, 4, 4)
    assert (
        log.reading.find_offset(EARLIEST)
        == log.reading.find_offset(EARLIEST_LOCAL)
        == (-1, 4, 4)
    )


def test_the_ends_carry_their_epochs() -> None:
    log = new_log()
    produce(log, 2, leader_epoch=3)
    produce(log, 2, leader_epoch=5)
    assert log.reading.find_offset(EARLIEST) == (-1, 0, 3)
    assert log.reading.find_offset(LATEST) == (-1, 4, 5)


def test_records_without_a_time_are_not_found_by_it() -> None:
    log = new_log()
    produce(log, timestamp=-1)
    assert log.reading.find_offset(0) is None
    assert log.reading.find_offset(MAX_TIMESTAMP) is None


def test_t032_max_timestamp_offset_is_batch_last_offset_in_time_index() -> None:
    log = new_log(segment_bytes=10_000, index_interval_bytes=0)
    for start in (100, 200, 150):
        times = (start, start + 9, start + 4)
        records = [NewRecord(b"k", b"v", NOW + each) for each in times]
        append(log, build_batch(records))
    log.roll(NOW)
    (first, _) = log.local.segments
    assert first.indexes.times.last == (NOW + 209, 5)
    assert log.reading.find_offset(MAX_TIMESTAMP) == (NOW + 209, 4, EPOCH)


def test_the_latest_is_what_the_asker_may_see() -> None:
    log = new_log()
    produce(log, 3)
    produce(log, 2, producer=Producer(7, 0, 0), is_transactional=True)
    produce(log, 2)
    log.visibility.raise_to(log.log_end_offset)
    produce(log, 4)
    found = {
        isolation: log.reading.find_offset(LATEST, isolation=isolation)
        for isolation in FetchIsolation
    }
    assert found == {
        LOG_END: TimestampOffset(-1, 11, EPOCH),
        HIGH_WATERMARK: TimestampOffset(-1, 7, EPOCH),
        COMMITTED: TimestampOffset(-1, 3, EPOCH),
    }
    for isolation in FetchIsolation:
        assert log.reading.find_offset(EARLIEST, isolation=isolation) == (-1, 0, EPOCH)
        assert log.reading.find_offset(LATEST_TIERED, isolation=isolation) == (
            -1,
            -1,
            -1,
        )


def test_t047_what_the_asker_may_not_see_yet_is_not_found() -> None:
    log = new_log()
    produce(log, 3, timestamp=NOW)
    sync(log)
    produce(log, 3, timestamp=NOW + 10)
    for question in (NOW + 10, MAX_TIMESTAMP):
        assert log.reading.find_offset(question) == (NOW + 10, 3, EPOCH)
        assert log.reading.find_offset(question, isolation=HIGH_WATERMARK) is None
        assert log.reading.find_offset(question, isolation=COMMITTED) is None
    assert log.reading.find_offset(NOW, isolation=COMMITTED) == (NOW, 0, EPOCH)
