"""How far one sees in a log: high watermark, last stable offset, log start."""

import pytest

from protocol.control_records import ControlType
from protocol.errors import (
    OffsetOutOfRange,
)
from storage.log_read import FetchIsolation
from storage.offset_metadata import OffsetMetadata

from .logs import (
    NOW,
    Producer,
    marker,
    new_log,
    produce,
    read_all,
    sync,
)

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
COMMITTED = FetchIsolation.TXN_COMMITTED
IDEMPOTENT = Producer(7, 0, 0)


def test_t050_high_watermark_is_clamped() -> None:
    log = new_log()
    produce(log, 5)
    assert log.update_high_watermark(100)
    assert log.high_watermark == 5
    assert not log.update_high_watermark(-1)
    assert not log.update_high_watermark(3)
    assert log.high_watermark == 5


def test_the_high_watermark_moves_with_its_place() -> None:
    log = new_log()
    produce(log, 5)
    middle = log.end_metadata
    produce(log, 5)
    assert log.update_high_watermark(middle)
    assert log.high_watermark_metadata == middle
    assert not log.update_high_watermark(middle)
    assert log.update_high_watermark(OffsetMetadata(10))
    assert log.high_watermark_metadata == log.end_metadata


def test_an_offset_alone_finds_its_place() -> None:
    log = new_log()
    produce(log, 5)
    middle = log.end_metadata
    produce(log, 5)
    assert log.update_high_watermark(5)
    assert log.high_watermark_metadata == middle


def test_t051_the_same_offset_in_a_newer_segment_is_a_move() -> None:
    log = new_log()
    produce(log, 5)
    sync(log)
    old = log.high_watermark_metadata
    log.roll(NOW)
    assert log.high_watermark_metadata == log.end_metadata
    assert old.on_older_segment(log.high_watermark_metadata)


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
