"""Batches of a coordinator that are written together, or not at all."""

import errno

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import (
    InvalidTxnState,
    KafkaStorageError,
    RecordListTooLarge,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.append_info import AppendOrigin
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    EPOCH,
    NOW,
    append,
    marker,
    new_log,
    produce,
    read_all,
    reopened,
    sync,
)


def batches(*counts: int, producer_id: int = -1) -> tuple[memoryview, ...]:
    """Batches of so many records each."""
    made = []
    for index, count in enumerate(counts):
        records = [NewRecord(b"k", b"v", NOW + index) for _ in range(count)]
        batch = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            base_sequence=0,
            is_transactional=producer_id >= 0,
        )
        made.append(memoryview(batch))
    return tuple(made)


def offsets(log: UnifiedLog) -> list[int]:
    return [record.offset for record in read_all(log)]


def state(log: UnifiedLog) -> object:
    """What the log has in memory and in files besides its name."""
    producers = [
        (each.producer_id, each.producer_epoch, each.current_txn_first_offset)
        for each in log.producers
    ]
    return (
        log.local.end,
        log.local.size,
        log.epochs.entries,
        log.visibility.first_unstable_offset,
        producers,
        [segment.base_offset for segment in log.local.segments],
        log.appended_bytes,
    )


@pytest.mark.parametrize("producer_id", [-1, 7])
def test_it_is_as_if_they_had_come_one_by_one(producer_id: int) -> None:
    together, one_by_one = new_log(), new_log()
    for log in (together, one_by_one):
        produce(log, 2, leader_epoch=EPOCH - 1)
    info = together.joint_appender.append(
        batches(3, 1, 2, producer_id=producer_id), EPOCH, NOW
    )
    for each in batches(3, 1, 2, producer_id=producer_id):
        append(one_by_one, bytearray(each), AppendOrigin.COORDINATOR)
    assert (info.base_offset, info.last_offset, info.max_timestamp) == (2, 7, NOW + 2)
    assert (info.last_offset_of_first_batch, info.offset_of_max_timestamp) == (4, 7)
    assert state(together) == state(one_by_one)
    assert read_all(together) == read_all(one_by_one)
    if producer_id >= 0:
        marker(together, ControlType.COMMIT)
        assert not any(each.has_transaction for each in together.producers)
    sync(together)
    again = reopened(together, recovery_point=together.log_end_offset)
    assert read_all(again) == read_all(together)


def test_each_of_them_is_found_later(caplog: pytest.LogCaptureFixture) -> None:
    log = new_log(segment_bytes=100_000, index_interval_bytes=100)
    for _ in range(5):
        log.joint_appender.append(batches(*[1] * 20), EPOCH, NOW)
    assert log.local.active.indexes.offsets.count == 49  # of every second batch
    for offset in range(100):
        header = read_header(log.read(offset, 1, FetchIsolation.LOG_END).records)
        assert (header.base_offset, header.records_count) == (offset, 1)
    assert len(log.damage) == 0
    assert not caplog.records


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE])
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("segment_bytes", [200, 10_000])
def test_what_cannot_be_written_leaves_nothing(
    error: int, nth: int, segment_bytes: int
) -> None:
    """Whichever of the calls fails that the roll and the write are made of."""
    files = FakeFiles()
    log = new_log(files, segment_bytes=segment_bytes)
    produce(log, 2)
    written = log.local.size
    files.fail(nth=nth, error=error)
    try:
        log.joint_appender.append(batches(1, 1, producer_id=7), EPOCH, NOW)
        files.heal()
    except KafkaStorageError:
        files.heal()
        assert (offsets(log), log.local.size) == ([0, 1], written)
        assert log.producers.get(7) is None
        log.joint_appender.append(batches(1, 1, producer_id=7), EPOCH, NOW)
    assert offsets(log) == [0, 1, 2, 3]
    assert log.visibility.first_unstable_offset == 2


def test_one_that_is_refused_keeps_all_from_being_written() -> None:
    log = new_log()
    append(log, bytearray(batches(1, producer_id=7)[0]), AppendOrigin.COORDINATOR)
    good, bad = (
        batches(1)[0],
        build_batch(
            [NewRecord(b"k", b"v", NOW)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=1,
        ),
    )
    before = state(log)
    with pytest.raises(InvalidTxnState):  # not of the transaction that is open
        log.joint_appender.append((good, memoryview(bad)), EPOCH, NOW)
    assert state(log) == before


def test_they_lie_in_one_segment() -> None:
    log = new_log(segment_bytes=220)
    produce(log)
    log.joint_appender.append(batches(1, 1, 1), EPOCH, NOW)
    assert [each.base_offset for each in log.local.segments] == [0, 1]
    with pytest.raises(RecordListTooLarge):
        log.joint_appender.append(batches(1, 1, 1, 1, 1), EPOCH, NOW)
    assert log.log_end_offset == 4
