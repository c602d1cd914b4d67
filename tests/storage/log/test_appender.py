"""Appending to the log of a partition: what is written, and what is refused."""

import errno

import pytest

from odradek.protocol.errors import (
    InvalidRecord,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    RecordListTooLarge,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.files.files import DiskFull
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    EPOCH,
    NOW,
    Producer,
    append,
    new_log,
    offsets,
    produce,
    reopened,
    sync,
)

IDEMPOTENT = Producer(7, 0, 0)


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


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = new_log(segment_bytes=1000)
    with pytest.raises(RecordListTooLarge):
        produce(log, value=bytes(1000))
    assert log.log_end_offset == 0


def test_a_refused_batch_changes_nothing() -> None:
    log = new_log(segment_bytes=1000)
    produce(log, value=bytes(700), producer=IDEMPOTENT)
    with pytest.raises(OutOfOrderSequenceNumber):
        # It would have rolled the segment, and begun an epoch.
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


# Transactions


def test_a_batch_shows_the_guard_of_its_verification() -> None:
    log = new_log()
    log.producers.verifies = True
    with pytest.raises(InvalidTxnState):
        produce(log, producer=IDEMPOTENT, is_transactional=True)
    guard = log.producers.start_verification(7, 0, 0, NOW)
    assert guard is not None
    records = [NewRecord(b"k", b"v", NOW)]
    first = build_batch(
        records, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    log.appender.append_as_leader(memoryview(first), EPOCH, NOW, guard=guard)
    assert log.producers.start_verification(7, 1, 0, NOW) is None  # it is open now
    produce(log, producer=Producer(7, 0, 1), is_transactional=True)
    assert log.log_end_offset == 2


# What an append says


def test_what_is_known_of_a_produced_batch() -> None:
    log = new_log()
    records = [NewRecord(b"k", b"v", NOW + place) for place in (2, 9, 4)]
    info = append(log, build_batch(records, compression=2))
    assert info.compression == 2
    assert info.max_timestamp == NOW + 9
    # Of the batch, not of the record.
    assert info.offset_of_max_timestamp == info.last_offset_of_first_batch == 2
