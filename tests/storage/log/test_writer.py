"""Appending to the log of a partition: what is written, and what is refused."""

import errno

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import (
    InvalidRecord,
    InvalidTxnState,
    KafkaStorageError,
    OutOfOrderSequenceNumber,
    RecordListTooLarge,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.files.files import DiskFull, StorageFailure
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    EPOCH,
    NOW,
    Producer,
    append,
    files_of,
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


# Transactions


def test_an_aborted_transaction_gets_its_entry() -> None:
    log = new_log()
    produce(log, 2, producer=Producer(8, 0, 0), is_transactional=True)
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.ABORT)
    entry = (7, 2, 5, 0)  # the other transaction was open then
    assert list(log.local.active.transactions.entries()) == [entry]
    assert log.first_unstable_offset == 0


def test_committed_and_empty_transactions_get_none() -> None:
    log = new_log()
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.COMMIT)
    marker(log, ControlType.ABORT)
    assert not list(log.local.active.transactions.entries())
    assert not log.local.files.exists(log.local.active.transactions.path)


def test_the_entry_is_in_the_segment_of_the_marker() -> None:
    log = new_log(segment_bytes=200)
    produce(log, 1, producer=IDEMPOTENT, is_transactional=True, value=bytes(60))
    marker(log, ControlType.ABORT)
    assert [segment.base_offset for segment in log.local.segments] == [0, 1]
    first, second = log.local.segments
    assert not list(first.transactions.entries())
    assert list(second.transactions.entries()) == [(7, 0, 1, 2)]


def test_the_transaction_index_is_synced_with_its_name() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    sync(log)
    marker(log, ControlType.ABORT)
    sync(log)
    files.power_cut()
    assert len(files.content("00000000000000000000.txnindex")) == 34
    again = reopened(log, recovery_point=log.recovery_point)
    assert list(again.local.active.transactions.entries()) == [(7, 0, 3, 4)]


def test_without_room_for_the_entry_the_marker_is_not_there() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    files.fail("append", nth=2, error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        marker(log, ControlType.ABORT)
    assert (log.log_end_offset, log.first_unstable_offset) == (3, 0)
    marker(log, ControlType.ABORT)
    assert [record.offset for record in read_all(log)] == [0, 1, 2, 3]
    assert list(log.local.active.transactions.entries()) == [(7, 0, 3, 4)]


def test_leo_is_behind_a_marker_whose_entry_failed() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    sync(log)
    files.fail("append", nth=2)
    with pytest.raises(StorageFailure):
        marker(log, ControlType.ABORT)
    assert log.is_failed
    assert log.log_end_offset == 4
    assert (log.producers.map_end_offset, log.last_stable_offset) == (3, 0)
    again = reopened(log, recovery_point=3)
    assert list(again.local.active.transactions.entries()) == [(7, 0, 3, 4)]


def test_a_batch_shows_the_guard_of_its_verification() -> None:
    log = new_log()
    log.producers.verifies = True
    with pytest.raises(InvalidTxnState):
        produce(log, producer=IDEMPOTENT, is_transactional=True)
    guard = log.start_verification(7, 0, 0, NOW)
    assert guard is not None
    records = [NewRecord(b"k", b"v", NOW)]
    first = build_batch(
        records, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    log.append_as_leader(memoryview(first), EPOCH, NOW, guard=guard)
    assert log.start_verification(7, 1, 0, NOW) is None  # it is open now
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


# Too many open files


@pytest.mark.parametrize("operation", ["open", "append"])
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENOSPC])
def test_a_roll_without_its_snapshot_is_synced_all_the_same(
    operation: str, error: int
) -> None:
    log = new_log()
    produce(log, 3)
    sync(log)
    log.roll(NOW)
    produce(log, 2)
    files_of(log).fail(operation, error=error)
    sync(log)
    (failed,) = files_of(log).failed
    assert failed[1].name == f"{3:020}.snapshot.tmp"
    assert not files_of(log).exists(failed[1])
    files_of(log).power_cut()
    assert offsets(reopened(log, recovery_point=5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("operation", ["open", "append"])
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENOSPC])
def test_a_marker_without_its_entry_is_not_there(operation: str, error: int) -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True)
    nth = 1 if operation == "open" else 2
    files_of(log).fail(operation, nth=nth, error=error)
    with pytest.raises(KafkaStorageError):
        marker(log, ControlType.ABORT)
    assert files_of(log).failed
    assert log.log_end_offset == 2
    assert log.producers.first_unstable_offset == 0
    marker(log, ControlType.ABORT)
    sync(log)
    assert log.last_stable_offset == 3


def test_a_log_whose_files_somebody_removed_takes_no_more_writes() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=200)
    produce(log)
    sync(log)
    files.rmtree(DIRECTORY)
    with pytest.raises(StorageFailure):
        produce(log, value=bytes(100))  # it rolls
    assert log.is_failed
