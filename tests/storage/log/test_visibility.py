"""How far one sees in a log: high watermark, last stable offset, log start."""

from dataclasses import replace

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import KafkaStorageError, OffsetOutOfRange
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.log.retention import delete_old_segments
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.storage.logs import (
    NOW,
    Producer,
    filled,
    marker,
    new_log,
    produce,
    read_all,
    reopened,
    sync,
)

COMMITTED = FetchIsolation.TXN_COMMITTED
IDEMPOTENT = Producer(7, 0, 0)


@pytest.mark.parametrize(("checkpointed", "expected"), [(99, 9), (2, 4), (6, 6)])
def test_t050_a_restored_high_watermark_is_clamped(
    checkpointed: int, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = new_log()
    for _ in range(3):
        produce(log, 3)
    sync(log)
    log.increment_log_start(4)
    log = reopened(log, recovery_point=9, log_start_offset=4)
    caplog.clear()
    log.visibility.restore(checkpointed)
    assert log.high_watermark == expected
    assert not caplog.text  # that it falls is as it should be
    assert log.visibility.high_watermark_metadata.offset == expected


def test_the_high_watermark_stops_at_the_log_end() -> None:
    log = new_log()
    produce(log, 5)
    assert log.visibility.raise_to(100)
    assert log.high_watermark == 5
    assert not log.visibility.raise_to(-1)
    assert not log.visibility.raise_to(3)
    assert log.high_watermark == 5


def leading(batches: int = 3) -> tuple[UnifiedLog, list[OffsetMetadata]]:
    """A log of which nothing is replicated, and its ends batch by batch."""
    log = new_log(segment_bytes=100_000)
    ends = [log.end_metadata]
    for _ in range(batches):
        produce(log, 5)
        ends.append(log.end_metadata)
    return log, ends


def test_an_equal_offset_in_a_newer_segment_is_an_increment() -> None:
    log, ends = leading()
    log.visibility.raise_to(ends[2])
    log.roll(NOW)
    log.visibility.raise_to(ends[3])  # as found before the roll
    assert log.visibility.high_watermark_metadata == log.end_metadata == (15, 15, 0)


def test_after_a_failure_it_stays() -> None:
    log, ends = leading()
    log.fail(KafkaStorageError("a disk is gone"))
    log.visibility.restore(10)
    assert not log.visibility.raise_to(ends[1])
    assert log.high_watermark == 0


def test_a_change_of_it_is_told_to_the_producers() -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.COMMIT)
    assert log.visibility.first_unstable_offset == 0
    log.visibility.raise_to(2)
    assert (log.visibility.first_unstable_offset, log.last_stable_offset) == (0, 0)
    log.visibility.raise_to(3)
    assert (log.visibility.first_unstable_offset, log.last_stable_offset) == (-1, 3)


def test_a_new_log_begins_with_all_of_them_at_its_start() -> None:
    log = new_log()
    start = OffsetMetadata(0, 0, 0)
    assert log.visibility.snapshot() == (0, start, start, start)


def test_all_offsets_at_once_with_their_places() -> None:
    log, ends = leading()
    sync(log)
    first = log.log_end_offset
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True)
    place = ends[3]
    log.increment_log_start(2)
    produce(log, 1)
    log.visibility.raise_to(17)
    snapshot = log.visibility.snapshot()
    assert snapshot.log_start_offset == 2
    assert snapshot.log_end == log.end_metadata
    assert snapshot.high_watermark == log.visibility.high_watermark_metadata
    assert snapshot.last_stable == place == (first, 0, place.position)
    assert snapshot.log_end.position_diff(snapshot.last_stable) > 0


def test_a_place_below_the_first_segment_is_message_only() -> None:
    log = filled()
    produce(log, 2, producer=Producer(9, 0, 0), is_transactional=True)
    sync(log)
    log.truncation.truncate_fully_and_start_at(500, NOW, log_start=100)
    log.visibility.restore(200)
    snapshot = log.visibility.snapshot()
    assert snapshot.high_watermark == OffsetMetadata(200)
    assert snapshot.last_stable == OffsetMetadata(200)
    assert snapshot.high_watermark.is_message_only


def test_the_place_of_the_stable_offset_follows_a_truncation() -> None:
    log = new_log(segment_bytes=100_000)
    for size in (10, 300):
        produce(log, 1, value=bytes(size))
        produce(log, 1, producer=IDEMPOTENT, is_transactional=True)
        sync(log)
        expected = log.local.convert_to_offset_metadata(1)
        assert log.visibility.snapshot().last_stable == expected
        log.truncation.truncate_to(0, NOW)


def test_the_five_occasions_that_move_the_log_start() -> None:
    log = filled(cleanup_policy=frozenset({"delete"}), retention_ms=-1)
    again = reopened(log, recovery_point=90, log_start_offset=5)
    assert again.log_start_offset == 5  # when it is loaded
    again.increment_log_start(40)
    assert again.log_start_offset == 40  # DeleteRecords
    again.increment_log_start(41, LogStartReason.LEADER_OFFSET_INCREMENT)
    assert again.log_start_offset == 41  # a leader's
    produce(again, value=bytes(800))
    sync(again)
    again.update_config(replace(again.config, retention_bytes=0))
    delete_old_segments(again, NOW)
    assert again.log_start_offset == 91  # deletion of segments
    again.truncation.truncate_to(7, NOW)
    assert again.log_start_offset == 7  # truncation


def test_why_the_log_start_moves_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = filled()
    for offset, reason in enumerate(LogStartReason, 1):
        log.increment_log_start(offset, reason)
        assert reason.value in caplog.messages[-1]
        assert f"starts at {offset} instead of {offset - 1}" in caplog.messages[-1]


def test_the_high_watermark_moves_with_its_place() -> None:
    log = new_log()
    produce(log, 5)
    middle = log.end_metadata
    produce(log, 5)
    assert log.visibility.raise_to(middle)
    assert log.visibility.high_watermark_metadata == middle
    assert not log.visibility.raise_to(middle)
    assert log.visibility.raise_to(OffsetMetadata(10))
    assert log.visibility.high_watermark_metadata == log.end_metadata


def test_an_offset_alone_finds_its_place() -> None:
    log = new_log()
    produce(log, 5)
    middle = log.end_metadata
    produce(log, 5)
    assert log.visibility.raise_to(5)
    assert log.visibility.high_watermark_metadata == middle


def test_t051_the_same_offset_in_a_newer_segment_is_a_move() -> None:
    log = new_log()
    produce(log, 5)
    sync(log)
    old = log.visibility.high_watermark_metadata
    log.roll(NOW)
    assert log.visibility.high_watermark_metadata == log.end_metadata
    assert old.on_older_segment(log.visibility.high_watermark_metadata)


def test_t054_increment_start_above_hw_is_1() -> None:
    log = new_log()
    produce(log, 5)
    with pytest.raises(OffsetOutOfRange):
        log.increment_log_start(1)
    sync(log)
    assert log.increment_log_start(5)
    assert not log.increment_log_start(4)
    assert log.log_start_offset == 5


# Transactions


def test_the_stable_offset_waits_for_the_marker_to_be_replicated() -> None:
    log = new_log()
    produce(log, 2)
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    produce(log, 1)
    sync(log)
    assert (log.high_watermark, log.last_stable_offset) == (6, 2)
    assert len(read_all(log, COMMITTED)) == 2
    marker(log, ControlType.COMMIT)
    assert log.last_stable_offset == 2
    sync(log)
    assert log.last_stable_offset == log.high_watermark == 7


def test_t053_delete_records_past_open_txn_start() -> None:
    log = new_log()
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    produce(log, 3)
    sync(log)
    log.increment_log_start(2)
    assert log.last_stable_offset == log.log_start_offset == 2


def test_t096_empty_txn_marker_does_not_move_lso() -> None:
    log = new_log()
    marker(log, ControlType.ABORT)
    sync(log)
    assert log.last_stable_offset == 1


def test_t044_where_an_epoch_ended_that_a_reader_fetched_last() -> None:
    log = new_log()
    for epoch in (0, 2, 4):
        produce(log, 5, leader_epoch=epoch)
    assert [tuple(each) for each in log.epochs.entries] == [(0, 0), (2, 5), (4, 10)]
    assert log.epoch_end_offset(3) == (2, 10)  # below the epoch asked for: diverging
    assert log.epoch_end_offset(4) == (4, 15)
    assert log.epoch_end_offset(5) == (-1, -1)
