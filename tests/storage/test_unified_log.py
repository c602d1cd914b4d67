"""Appending to the log of a partition, reading from it, and how far one sees."""

import errno

import pytest

from protocol.control_records import ControlType
from protocol.errors import (
    InvalidRecord,
    KafkaStorageError,
    OffsetOutOfRange,
    OutOfOrderSequenceNumber,
    RecordListTooLarge,
)
from protocol.record_batch import read_header
from storage.files import DiskFull, StorageFailure
from storage.log_read import FetchIsolation
from storage.offset_metadata import OffsetMetadata
from tests.fakes.files import FakeFiles

from .logs import (
    EPOCH,
    NOW,
    Producer,
    append,
    marker,
    new_log,
    offsets,
    produce,
    read_all,
    reopened,
    sync,
)

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
COMMITTED = FetchIsolation.TXN_COMMITTED
IDEMPOTENT = Producer(7, 0, 0)


# Append


def test_a_batch_gets_the_next_offsets_and_the_leaders_epoch() -> None:
    log = new_log()
    produce(log, 3)
    info = produce(log, 2)
    assert (info.base_offset, info.last_offset) == (3, 4)
    assert (info.log_start_offset, info.log_append_time_ms) == (0, -1)
    assert info.max_timestamp == NOW
    assert log.log_end_offset == 5
    header = read_header(log.read(3, 1000, FetchIsolation.LOG_END).records)
    assert (header.base_offset, header.partition_leader_epoch) == (3, EPOCH)


def test_what_was_appended_is_read() -> None:
    log = new_log()
    for count in (1, 5, 2, 30, 1):
        produce(log, count)
    assert offsets(log) == list(range(39))


def test_a_full_segment_rolls_and_reads_go_on() -> None:
    log = new_log()
    rolled = [produce(log, 3).has_rolled for _ in range(20)]
    assert sum(rolled) == len(log.local.segments) - 1 > 1
    assert offsets(log) == list(range(60))


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = new_log(segment_bytes=1000)
    with pytest.raises(RecordListTooLarge):
        produce(log, value=bytes(1000))
    assert log.log_end_offset == 0


def test_a_refused_batch_changes_nothing() -> None:
    log = new_log(segment_bytes=1000)
    produce(log, value=bytes(700), producer=IDEMPOTENT)
    with pytest.raises(OutOfOrderSequenceNumber):
        # It would have rolled the segment, and begun an epoch (``spec`` E9).
        produce(log, value=bytes(500), producer=Producer(7, 0, 5), leader_epoch=9)
    with pytest.raises(InvalidRecord):
        append(log, bytearray(b""))
    assert len(log.local.segments) == 1
    assert log.latest_epoch == EPOCH
    assert log.log_end_offset == 1


def test_a_new_epoch_begins_with_its_first_record() -> None:
    log = new_log()
    produce(log, 5, leader_epoch=4)
    log.assign_epoch(6)
    produce(log, 5, leader_epoch=6)
    produce(log, 1, leader_epoch=7)
    assert log.epoch_end_offset(4) == (4, 5)
    assert log.epoch_end_offset(5) == (4, 5)
    assert log.epoch_end_offset(6) == (6, 10)
    assert log.epoch_end_offset(7) == (7, 11)
    assert log.epoch_end_offset(8) == (-1, -1)


def test_an_election_without_records_is_remembered() -> None:
    log = new_log()
    produce(log, 5)
    log.assign_epoch(9)
    assert (log.latest_epoch, log.epoch_end_offset(9)) == (9, (9, 5))
    sync(log)
    again = reopened(log, recovery_point=5)
    assert again.latest_epoch == 9


def test_a_full_disk_leaves_the_log_as_it_was() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, producer=IDEMPOTENT)
    files.fail("append", error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        produce(log, producer=Producer(7, 0, 1))
    assert produce(log, producer=Producer(7, 0, 1)).base_offset == 1
    assert offsets(log) == [0, 1]


def test_a_broken_disk_is_final() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    files.fail("append", error=errno.EIO)
    with pytest.raises(StorageFailure):
        produce(log)
    with pytest.raises(KafkaStorageError):
        produce(log)
    assert log.is_failed


# Duplicates


def test_a_retry_is_answered_as_the_first_time() -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, timestamp=NOW - 5)
    produce(log, 1, producer=Producer(7, 0, 2))
    again = produce(log, 2, producer=IDEMPOTENT, timestamp=NOW - 1)
    assert again.is_duplicate
    assert (again.base_offset, again.last_offset) == (0, 1)
    assert again.log_append_time_ms == again.max_timestamp == NOW - 5
    assert log.log_end_offset == 3


def test_producers_do_not_know_each_other() -> None:
    log = new_log()
    for number in range(3):
        for producer_id in (1, 2):
            produce(log, producer=Producer(producer_id, 0, number))
    assert log.log_end_offset == 6
    assert {each.producer_id: each.last_sequence for each in log.producers} == {
        1: 2,
        2: 2,
    }


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


# Watermarks


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
