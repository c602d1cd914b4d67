"""Which transactions were aborted: markers get their entries, readers are told."""

import errno

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import (
    KafkaStorageError,
)
from odradek.storage.files.files import DiskFull, StorageFailure
from odradek.storage.indexes.transaction_index import TransactionIndex
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    NOW,
    Producer,
    files_of,
    marker,
    new_log,
    produce,
    read_all,
    reopened,
    sync,
)

COMMITTED = FetchIsolation.TXN_COMMITTED
IDEMPOTENT = Producer(7, 0, 0)


def test_an_aborted_transaction_gets_its_entry() -> None:
    log = new_log()
    produce(log, 2, producer=Producer(8, 0, 0), is_transactional=True)
    produce(log, 3, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.ABORT)
    entry = (7, 2, 5, 0)  # the other transaction was open then
    assert list(log.local.active.transactions.entries()) == [entry]
    assert log.visibility.first_unstable_offset == 0


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
    assert (log.log_end_offset, log.visibility.first_unstable_offset) == (3, 0)
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
    log.truncation.truncate_to(first + 1, NOW)
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
    assert [log.aborts.has_aborted(7, offset) for offset in range(7)] == [
        *(False, True, True, True),
        *(False, False, False),
    ]
    assert not log.aborts.has_aborted(8, 2)


def test_nobody_is_told_that_nothing_was_aborted_when_nobody_knows() -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True)
    marker(log, ControlType.ABORT)
    segment = log.local.active
    files_of(log).cut("00000000000000000000.txnindex", by=1)
    path = segment.transactions.path
    segment.transactions = TransactionIndex(log.local.files, path, 0)
    log.visibility.raise_to(3)
    with pytest.raises(KafkaStorageError):
        log.read(0, 1000, COMMITTED)
    with pytest.raises(KafkaStorageError):
        log.aborts.has_aborted(7, 0)
    assert len(log.read(0, 1000).records)


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
