"""Appending what a leader sent: nothing is assigned, and nothing believed unseen."""

import errno

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import InvalidRecord, RecordListTooLarge
from odradek.protocol.record_batch import read_header, stamp
from odradek.storage.files.files import DiskFull
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.append_info import AppendInfo
from odradek.storage.validation.batch_analysis import (
    OffsetsOutOfOrder,
    UnexpectedAppendOffset,
)
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch
from tests.storage.logs import (
    EPOCH,
    NOW,
    Producer,
    append,
    marker,
    new_log,
    produce,
    read_all,
)

IDEMPOTENT = Producer(7, 0, 0)


def offsets_of(log: UnifiedLog) -> list[int]:
    return [record.offset for record in read_all(log)]


def followed(log: UnifiedLog, *batches: bytearray) -> AppendInfo:
    return log.replica_appender.append_as_follower(b"".join(batches), NOW)


def test_a_follower_writes_what_it_got_as_it_is() -> None:
    log, first, second = new_log(), batch(0, 5), batch(5, 2, timestamp=900)
    stamp(second, 5, 6)
    info = followed(log, first, second)
    assert (info.base_offset, info.last_offset, info.size) == (
        0,
        6,
        len(first + second),
    )
    assert (info.last_offset_of_first_batch, info.offset_of_max_timestamp) == (4, 4)
    assert (info.max_timestamp, info.log_append_time_ms) == (1004, -1)
    data = log.read(0, 1000, FetchIsolation.LOG_END).records
    assert bytes(data) == bytes(first + second)
    assert log.log_end_offset == 7


def test_epochs_come_from_the_batches() -> None:
    log = new_log()
    batches = [batch(5 * number, 5) for number in range(4)]
    for number, epoch in enumerate((2, 2, 5, 9)):
        stamp(batches[number], 5 * number, epoch)
    followed(log, *batches)
    assert [tuple(each) for each in log.epochs.entries] == [(2, 0), (5, 10), (9, 15)]
    assert log.epoch_end_offset(5) == (5, 15)


def test_t019_batches_of_a_leader_are_indexed_as_if_each_had_come_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = new_log(segment_bytes=100_000, index_interval_bytes=100)
    for number in range(5):
        followed(log, *(batch(20 * number + each, 1) for each in range(20)))
    assert log.local.active.indexes.offsets.count == 49  # of every second batch
    for offset in range(100):
        header = read_header(log.read(offset, 1, FetchIsolation.LOG_END).records)
        assert (header.base_offset, header.records_count) == (offset, 1)
    assert len(log.damage) == 0
    assert not caplog.records


def test_a_cut_last_batch_waits_for_the_next_fetch() -> None:
    log, whole, cut = new_log(), batch(0, 2), batch(2, 2)
    assert followed(log, whole, cut[:-1]).last_offset == 1
    assert log.local.size == len(whole)
    assert followed(log, cut[:-1]).base_offset == -1
    assert followed(log).base_offset == -1
    assert followed(log, cut).base_offset == 2


def test_below_the_log_end_is_unexpected() -> None:
    log = new_log()
    followed(log, batch(0, 5))
    with pytest.raises(UnexpectedAppendOffset) as raised:
        followed(log, batch(4, 3), batch(7, 3))
    assert (raised.value.first_offset, raised.value.last_offset) == (4, 9)
    assert str(raised.value) == (
        "batches at offsets 4, 7 up to 9, but the log, which starts at 0, ends at 5"
    )
    with pytest.raises(OffsetsOutOfOrder):
        followed(log, batch(5, 3), batch(7, 3))
    with pytest.raises(RecordListTooLarge):
        followed(log, batch(5, value=bytes(1000)))
    assert log.log_end_offset == 5


def test_e3_a_follower_rolls_to_the_batchs_own_first_offset() -> None:
    log = new_log(segment_bytes=200)
    followed(log, batch(0, 5, value=bytes(20)))
    assert followed(log, batch(40, 5, value=bytes(20))).has_rolled
    assert log.local.active.base_offset == 40
    assert log.log_end_offset == 45
    far = 3 * 2**31
    assert followed(log, batch(far)).has_rolled
    assert log.local.active.base_offset == far
    assert offsets_of(log) == [*range(5), *range(40, 45), far]


def test_t004_a_base_offset_is_the_leaders_own() -> None:
    log = new_log()
    with pytest.raises(InvalidRecord):
        append(log, batch(3))
    assert followed(log, batch(3)).base_offset == 3


def test_a_followers_size_is_not_checked() -> None:
    log = new_log(max_message_bytes=100)
    assert followed(log, batch(0, value=bytes(300))).last_offset == 0


def test_an_older_producer_epoch_is_taken_as_it_is() -> None:
    leader, log = new_log(), new_log()
    produce(leader, producer=Producer(7, 5, 0))
    produce(log, producer=Producer(7, 6, 0))
    records = bytearray(leader.read(0, 1000, FetchIsolation.LOG_END).records)
    stamp(records, 1, EPOCH)
    assert followed(log, records).base_offset == 1


def test_transactions_of_many_batches_in_one_append() -> None:
    leader, log = new_log(segment_bytes=10_000), new_log(segment_bytes=10_000)
    produce(leader, 3, producer=IDEMPOTENT, is_transactional=True)
    marker(leader, ControlType.ABORT)
    produce(leader, 2, producer=Producer(7, 0, 3), is_transactional=True)
    marker(leader, ControlType.COMMIT)
    produce(leader, 2, producer=Producer(7, 0, 5), is_transactional=True)
    data = leader.read(0, 10_000, FetchIsolation.LOG_END).records
    followed(log, bytearray(data))
    for each in (leader, log):
        assert list(each.local.active.transactions.entries()) == [(7, 0, 3, 4)]
        assert each.producers.first_unstable_offset == 0
        each.visibility.raise_to(each.log_end_offset)
        assert each.last_stable_offset == 7


def test_a_full_disk_leaves_a_followers_log_as_it_was() -> None:
    leader = new_log(segment_bytes=10_000)
    for sequence in (0, 2):
        produce(leader, 2, producer=Producer(7, 0, sequence), is_transactional=True)
        marker(leader, ControlType.ABORT)
    data = bytearray(leader.read(0, 10_000, FetchIsolation.LOG_END).records)
    for nth in (1, 2, 3):  # the log, and the entry of each marker
        files = FakeFiles()
        log = new_log(files, segment_bytes=10_000)
        files.fail("append", nth=nth, error=errno.ENOSPC)
        with pytest.raises(DiskFull):
            followed(log, data)
        assert (log.log_end_offset, len(log.producers)) == (0, 0)
        assert not list(log.local.active.transactions.entries())
        followed(log, data)
        assert len(log.local.active.transactions.entries()) == 2
        assert offsets_of(log) == list(range(6))
