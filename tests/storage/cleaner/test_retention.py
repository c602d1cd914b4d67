"""What is made of one batch."""

from typing import Any

import pytest

from protocol.record_batch import check_crc, read_header
from protocol.records import NewRecord, build_batch, iterate
from storage.cleaner.retention import empty_batch, with_horizon, with_records

BASE, TIME = 100, 1_700_000_000_000
RECORDS = [
    NewRecord(b"a", b"1", TIME + 5, [("h", b"v"), ("null", None)]),
    NewRecord(b"b", None, TIME),
    NewRecord(None, b"3", TIME + 9),
]


def batch(**fields: Any) -> bytearray:
    fields = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 40, **fields}
    return build_batch(RECORDS, base_offset=BASE, leader_epoch=3, **fields)


@pytest.mark.parametrize("codec", range(5))
def test_records_that_stay_are_what_they_were(codec: int) -> None:
    before = batch(compression=codec)
    old = read_header(before)
    after = with_records(old, before, {0, 1})
    new = read_header(after)
    assert check_crc(after, new)
    assert list(iterate(after)) == list(iterate(before))[:2]
    assert new.records_count == 2
    assert new.max_timestamp == TIME + 5
    changed = ("batch_length", "crc", "records_count", "max_timestamp")
    same = dict.fromkeys(changed, 0)
    assert new._replace(**same) == old._replace(**same)


def test_with_a_horizon_they_keep_their_times() -> None:
    before = batch()
    after = with_horizon(read_header(before), before, TIME + 99_000)
    new = read_header(after)
    assert (new.delete_horizon_ms, new.max_timestamp) == (TIME + 99_000, TIME + 9)
    assert list(iterate(after)) == list(iterate(before))
    assert check_crc(after, new)
    again = with_records(new, after, {2})
    assert read_header(again).delete_horizon_ms == TIME + 99_000
    assert list(iterate(again)) == list(iterate(before))[2:]


def test_the_time_of_a_log_append_stays() -> None:
    before = batch(log_append_time_ms=TIME + 77)
    for after in (
        with_records(read_header(before), before, {0}),
        with_horizon(read_header(before), before, TIME + 99_000, {0}),
    ):
        assert read_header(after).max_timestamp == TIME + 77
        assert [record.timestamp for record in iterate(after)] == [TIME + 77]


def test_a_header_alone_says_where_the_batch_was() -> None:
    before = batch(compression=4, is_transactional=True)
    old = read_header(before)
    after = empty_batch(old)
    new = read_header(after)
    assert check_crc(after, new)
    assert (new.size, new.records_count, new.compression) == (61, 0, 0)
    assert (new.base_offset, new.last_offset) == (old.base_offset, old.last_offset)
    assert (new.base_sequence, new.last_sequence) == (40, 42)
    assert (new.base_timestamp, new.max_timestamp) == (-1, old.max_timestamp)
    assert new.is_transactional
    assert list(iterate(after)) == []
