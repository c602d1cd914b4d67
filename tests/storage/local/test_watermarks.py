"""Watermarks rise together with their places, and never pass the log end."""

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import KafkaStorageError, OffsetOutOfRange
from odradek.storage.local.watermarks import LogStartReason, Watermarks
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.files import FakeFiles
from tests.storage import logs
from tests.storage.batches import append, batch, new_log

DELETED = LogStartReason.CLIENT_RECORD_DELETION


def watermarks(batches: int = 4) -> tuple[Watermarks, list[OffsetMetadata]]:
    """Those of a log that was empty when they began, and its ends batch by batch."""
    log = new_log()
    marks = Watermarks(log, 0)
    ends = [log.end]
    for number in range(batches):
        append(log, batch(5 * number, 5))
        ends.append(log.end)
    return marks, ends


def test_the_high_watermark_only_rises_here() -> None:
    marks, ends = watermarks()
    assert marks.raise_high(ends[2])
    assert not marks.raise_high(ends[1])
    assert not marks.raise_high(ends[2])
    assert marks.high == ends[2]


def test_it_stops_at_the_log_end() -> None:
    marks, ends = watermarks()
    assert marks.raise_high(1000)
    assert marks.high == ends[4]


def test_an_offset_finds_its_place() -> None:
    marks, ends = watermarks()
    assert marks.raise_high(10)
    assert marks.high == ends[2]
    marks.raise_durable(ends[3])
    assert marks.raise_high(15)
    assert marks.high is ends[3]


def test_the_durable_offset_does_not_fall() -> None:
    marks, ends = watermarks()
    marks.raise_durable(ends[3])
    marks.raise_durable(ends[1])
    assert marks.durable == ends[3]


def test_the_log_start_takes_the_durable_offset_along() -> None:
    marks, ends = watermarks()
    marks.raise_high(ends[3])
    marks.raise_durable(ends[1])
    assert marks.raise_log_start(12, DELETED)
    assert (marks.log_start_offset, marks.durable.offset) == (12, 12)
    assert not marks.raise_log_start(12, DELETED)
    with pytest.raises(OffsetOutOfRange):
        marks.raise_log_start(16, DELETED)


def test_a_roll_moves_what_stands_at_the_end() -> None:
    log = new_log()
    append(log, batch(0, 5))
    marks = Watermarks(log, 0)
    log.roll(0, 0)
    marks.follow_roll()
    assert marks.high == marks.durable == OffsetMetadata(5, 5, 0)


def test_after_a_failure_only_what_is_durable_is_shown() -> None:
    marks, ends = watermarks()
    marks.raise_high(ends[4])
    marks.raise_durable(ends[2])
    marks.fall_to_durable()
    assert marks.high == ends[2]


def test_the_stable_offset_is_below_open_transactions() -> None:
    marks, ends = watermarks()
    marks.raise_high(ends[3])
    assert marks.stable(-1) == 15
    assert marks.stable(7) == 7
    assert marks.stable(15) == 15
    assert marks.stable(100) == 15
    marks.raise_log_start(10, DELETED)
    assert marks.stable(7) == 10


def test_the_high_watermark_rises_to_the_end_as_if_it_were_asked_to() -> None:
    straight, asked = logs.new_log(), logs.new_log()
    for step in ["plain", "open", "plain", "end", "plain", "fail"]:
        for log in (straight, asked):
            if step == "open":
                producer = logs.Producer(7, 0, 0)
                logs.produce(log, producer=producer, is_transactional=True)
            elif step == "end":
                logs.marker(log, ControlType.COMMIT)
            else:
                logs.produce(log)
            if step == "fail":
                log.fail(KafkaStorageError("a disk is gone"))
        straight.visibility.raise_to_end()
        asked.visibility.raise_to(asked.end_metadata)
        assert (
            straight.visibility.high_watermark_metadata
            == asked.visibility.high_watermark_metadata
        )
        assert straight.last_stable_offset == asked.last_stable_offset, step
    assert straight.high_watermark < straight.log_end_offset


def test_the_high_watermark_rises_to_what_is_durable_as_if_it_were_asked_to() -> None:
    straight, asked = logs.new_log(), logs.new_log()
    for step in ["plain", "open", "during", "nothing", "end", "roll", "plain", "fail"]:
        for log in (straight, asked):
            if step == "open":
                producer = logs.Producer(7, 0, 0)
                logs.produce(log, producer=producer, is_transactional=True)
            elif step == "end":
                logs.marker(log, ControlType.COMMIT)
            elif step != "nothing":
                logs.produce(log)
            ticket = log.syncing.begin()
            if step == "roll":
                log.roll(0)
            elif step == "during":
                logs.produce(log)
            if ticket is not None:
                ticket.run()
                log.syncing.finish(ticket)
            if step == "fail":
                log.fail(KafkaStorageError("a disk is gone"))
        straight.visibility.raise_to_durable()
        asked.visibility.raise_to(asked.durable_end)
        high = straight.visibility.high_watermark_metadata
        assert high == asked.visibility.high_watermark_metadata, step
        assert straight.last_stable_offset == asked.last_stable_offset, step
    assert high.segment_base_offset > 0


def test_the_high_watermark_can_be_set_inside_of_the_log() -> None:
    marks, ends = watermarks()
    assert marks.restore_high(10)
    assert marks.high == ends[2]
    assert not marks.restore_high(10)
    assert marks.restore_high(1000)
    assert marks.high == ends[4]
    marks.raise_log_start(5, DELETED)
    assert marks.restore_high(2)
    assert marks.high == ends[1]


def test_a_missing_place_is_looked_up_when_it_is_asked_for() -> None:
    marks, ends = watermarks()
    marks.high = OffsetMetadata(10)
    assert marks.high.is_message_only
    assert marks.locate_high() == ends[2] == marks.high


def test_all_of_them_fall_with_the_log_end() -> None:
    marks, ends = watermarks()
    marks.raise_high(ends[4])
    marks.raise_durable(ends[3])
    marks.raise_log_start(12, DELETED)
    marks.fall_to(ends[2])
    assert marks.high == marks.durable == ends[2]
    assert marks.log_start_offset == 10
    marks.fall_to(ends[3])
    assert marks.high == ends[2]


def test_an_empty_log_begins_with_all_of_them() -> None:
    marks, _ = watermarks()
    marks.begin_at(OffsetMetadata(50, 50, 0), 40)
    assert marks.high == marks.durable == OffsetMetadata(50, 50, 0)
    assert marks.log_start_offset == 40


def test_the_place_of_the_stable_offset_is_looked_up_once() -> None:
    marks, ends = watermarks()
    marks.raise_high(ends[4])
    assert marks.locate_stable(-1) is marks.high
    found = marks.locate_stable(10)
    assert found == ends[2]
    assert marks.locate_stable(10) is found
    marks.fall_to(ends[3])
    assert marks.locate_stable(10) is not found


def test_a_log_start_that_a_failing_disk_does_not_find_stays() -> None:
    files = FakeFiles()
    log = logs.new_log(files, segment_bytes=10_000)
    for _ in range(3):
        logs.produce(log, 2)
    log.visibility.raise_to_end()
    files.fail("read")
    with pytest.raises(KafkaStorageError):
        log.increment_log_start(4)
    assert (log.log_start_offset, log.recovery_point) == (0, 0)
    assert log.increment_log_start(4)
    assert (log.log_start_offset, log.recovery_point) == (4, 4)
