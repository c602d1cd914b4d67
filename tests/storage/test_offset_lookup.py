"""Offsets by time, and the earliest, the latest, and the one with the largest time."""

from storage.offset_lookup import EARLIEST, EARLIEST_LOCAL, LATEST, MAX_TIMESTAMP

from .logs import NOW, new_log, produce, sync


def test_an_empty_log_has_ends_but_no_times() -> None:
    log = new_log()
    assert log.find_offset(EARLIEST) == (-1, 0, -1)
    assert log.find_offset(LATEST) == (-1, 0, -1)
    assert log.find_offset(MAX_TIMESTAMP) is None
    assert log.find_offset(0) is None


def test_the_first_record_that_is_not_earlier_is_found_across_segments() -> None:
    log = new_log(segment_bytes=300)
    for number in range(50):
        produce(log, 3, timestamp=NOW + 10 * number)
    assert len(log.local.segments) > 10
    for number in range(50):
        assert log.find_offset(NOW + 10 * number) == (NOW + 10 * number, 3 * number, 4)
        later = log.find_offset(NOW + 10 * number + 1)
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
        found = log.find_offset(NOW + wanted)
        assert (found.offset if found else None) == (expected[0] if expected else None)
    assert log.find_offset(MAX_TIMESTAMP) == (NOW + 80, 2, 4)


def test_what_was_given_up_is_not_found() -> None:
    log = new_log()
    for number in range(10):
        produce(log, timestamp=NOW + number)
    sync(log)
    log.increment_log_start(4)
    assert log.find_offset(NOW) == (NOW + 4, 4, 4)
    assert log.find_offset(EARLIEST) == log.find_offset(EARLIEST_LOCAL) == (-1, 4, 4)


def test_the_ends_carry_their_epochs() -> None:
    log = new_log()
    produce(log, 2, leader_epoch=3)
    produce(log, 2, leader_epoch=5)
    assert log.find_offset(EARLIEST) == (-1, 0, 3)
    assert log.find_offset(LATEST) == (-1, 4, 5)


def test_records_without_a_time_are_not_found_by_it() -> None:
    log = new_log()
    produce(log, timestamp=-1)
    assert log.find_offset(0) is None
    assert log.find_offset(MAX_TIMESTAMP) is None
