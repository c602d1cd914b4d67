"""Reading from the log of a partition, syncing it, and ending it."""

import logging

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import KafkaStorageError, OffsetOutOfRange
from odradek.protocol.record_batch import scan
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import StorageFailure
from odradek.storage.indexes.transaction_index import TransactionIndex
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock
from tests.storage.logs import (
    DIRECTORY,
    EPOCH,
    NOW,
    ROOT,
    Producer,
    closed,
    files_of,
    filled,
    marker,
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


def aborted(log: UnifiedLog, offset: int, size_max: int = 1 << 20) -> list[int]:
    """The first offsets of the aborted transactions that a committed reader gets."""
    data = log.read(offset, size_max, COMMITTED, may_block=True)
    assert data.aborted is not None
    return [each.first_offset for each in data.aborted]


def test_only_committed_readers_are_told_of_aborted_transactions() -> None:
    log = new_log()
    produce(log)
    sync(log)
    assert log.read(0, 1000, COMMITTED).aborted == []
    assert log.read(1, 1000, COMMITTED).aborted == []
    assert log.read(0, 1000).aborted is None
    assert log.read(0, 1000, FetchIsolation.LOG_END).aborted is None


def test_committed_readers_get_what_concerns_the_bytes_they_get() -> None:
    log = new_log(segment_bytes=100_000)
    size = 0
    for number in range(4):
        producer = Producer(7, 0, 2 * number)
        produce(log, 2, producer=producer, is_transactional=True)
        marker(log, ControlType.ABORT)
        size = size or log.size
    sync(log)
    assert aborted(log, 0) == [0, 3, 6, 9]
    assert aborted(log, 5) == [3, 6, 9]
    assert aborted(log, 0, size) == [0]
    assert aborted(log, 0, size + 1) == [0]  # the next batch is cut
    assert aborted(log, 3, 2 * size) == [3, 6]


def test_t039_aborted_list_spans_segments() -> None:
    log = new_log(segment_bytes=300)
    produce(log, 1, producer=IDEMPOTENT, is_transactional=True, value=bytes(100))
    for _ in range(6):
        produce(log, 1, value=bytes(150))
    marker(log, ControlType.ABORT)
    produce(log, 1, value=bytes(150))
    sync(log)
    assert len(log.local.segments) > 3
    for offset in range(8):
        assert aborted(log, offset) == [0], offset
    assert aborted(log, 8) == []


def test_an_abort_after_the_first_committed_read_is_seen() -> None:
    log = new_log(segment_bytes=100_000)
    for number in range(12):
        produce(log, 1, producer=Producer(7, 0, number), is_transactional=True)
        first = log.log_end_offset - 1
        sync(log)
        assert aborted(log, 0) == list(range(0, first, 2))
        marker(log, ControlType.ABORT)
        sync(log)
        assert aborted(log, 0)[:1] == [0]
        assert aborted(log, first) == [first]
    log.truncate_to(first + 1, NOW)
    sync(log)
    assert aborted(log, first - 2) == [first - 2]
    marker(log, ControlType.COMMIT)
    sync(log)
    assert aborted(log, first - 2) == [first - 2]
    assert aborted(log, first) == []


def test_one_may_ask_how_a_transaction_ended() -> None:
    """Behind one that is open, too, where committed readers do not get."""
    log = new_log(segment_bytes=100_000)
    produce(log, 1, producer=Producer(8, 0, 0), is_transactional=True)
    for kind in (ControlType.ABORT, ControlType.COMMIT):
        sequence = 0 if kind is ControlType.ABORT else 2
        produce(log, 2, producer=Producer(7, 0, sequence), is_transactional=True)
        marker(log, kind)
    assert [log.has_aborted(7, offset) for offset in range(7)] == [
        *(False, True, True, True),
        *(False, False, False),
    ]
    assert not log.has_aborted(8, 2)


def test_an_open_transaction_hides_what_follows_it() -> None:
    log = new_log(segment_bytes=100_000)
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.ABORT)
    produce(log, 2, producer=Producer(8, 0, 0), is_transactional=True)
    produce(log, 2, producer=Producer(7, 0, 2), is_transactional=True)
    marker(log, ControlType.ABORT)
    sync(log)
    assert log.last_stable_offset == 3
    assert aborted(log, 0) == [0]
    assert aborted(log, 3) == []


def test_nobody_is_told_that_nothing_was_aborted_when_nobody_knows() -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.ABORT)
    segment = log.local.active
    files_of(log).cut("00000000000000000000.txnindex", by=1)
    path = segment.transactions.path
    segment.transactions = TransactionIndex(log.local.files, path, 0)
    log.update_high_watermark(3)
    with pytest.raises(KafkaStorageError):
        log.read(0, 1000, COMMITTED)
    with pytest.raises(KafkaStorageError):
        log.has_aborted(7, 0)
    assert len(log.read(0, 1000).records)


def test_a_late_transaction_is_reported() -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True, timestamp=NOW)
    timeout, five_minutes = 900_000, 300_000
    assert not log.has_late_transaction(NOW + timeout + five_minutes, timeout)
    assert log.has_late_transaction(NOW + timeout + five_minutes + 1, timeout)
    marker(log, ControlType.ABORT)
    assert not log.has_late_transaction(NOW + timeout + five_minutes + 1, timeout)


# What is said of it


def test_a_sync_says_up_to_where_when_somebody_wants_to_know(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = new_log()
    produce(log, 2)
    with caplog.at_level(logging.DEBUG, "odradek.storage.log.unified_log"):
        sync(log)
    (line,) = caplog.messages
    assert line == "[topic-0 in /data] flushed up to offset 2, durable up to 0"


# The whole


def test_t030_rename_deleted_after_delay_leaves_reads_alone() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=200, retention_ms=0)
    for _ in range(3):
        produce(log, 2, value=bytes(40))
    sync(log)
    manager = LogManager([ROOT], files, cluster_id="c", node_id=1, take_lock=NoLock)
    data = log.read(0, 1000)
    kept = bytes(data.records)
    assert manager.delete_old_segments(log, NOW + 1) == 3
    delay_ms = log.config.file_delete_delay_ms
    assert "00000000000000000000.log.deleted" in files.listdir(DIRECTORY)
    assert manager.removal_job(NOW + delay_ms) is None
    assert data.records == kept
    remove = manager.removal_job(NOW + 1 + delay_ms)
    assert remove is not None
    remove()
    assert not [name for name in files.listdir(DIRECTORY) if "deleted" in name]
    assert data.records == kept


def test_a_closed_log_takes_no_more_writes() -> None:
    log = filled()
    before = offsets(log)
    closed(log)
    for write in (
        lambda: produce(log),
        lambda: log.append_as_follower(b"", NOW),
        lambda: log.increment_log_start(3),
        lambda: log.truncate_to(3, NOW),
    ):
        with pytest.raises(KafkaStorageError, match="closed"):
            write()
    assert offsets(log) == before


def test_flush_makes_everything_durable() -> None:
    log = new_log()
    produce(log, 3)
    assert log.unflushed_count == 3
    log.flush()
    assert (log.unflushed_count, log.recovery_point) == (0, 3)


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


def test_a_high_watermark_without_a_place_is_looked_for_by_a_read() -> None:
    log = filled(batches=4)
    log._watermarks.high = OffsetMetadata(6)
    data = log.read(0, 1 << 20)
    assert [header.base_offset for _, header in scan(data.records)] == [0, 3]
    assert log._watermarks.high.segment_base_offset == 0


def test_a_closed_log_holds_no_file() -> None:
    log = closed(filled(batches=4))
    for segment in log.local.segments:
        files_of(log).unlink(segment.log.path)
        with pytest.raises(FileNotFoundError):  # one that is open could be read
            segment.log.read_at(0, 1)
