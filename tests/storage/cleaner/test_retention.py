"""What is made of one batch."""

from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.record_batch import check_crc, read_header
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.storage.cleaner.offset_map import OffsetMap
from odradek.storage.cleaner.plan import CleaningPlan, CleaningStats
from odradek.storage.cleaner.retention import Retention, empty_batch, with_horizon
from odradek.storage.values.log_config import LogConfig

BASE, TIME = 100, 1_700_000_000_000
RECORDS = [
    NewRecord(b"a", b"1", TIME + 5, [("h", b"v"), ("null", None)]),
    NewRecord(b"b", None, TIME),
    NewRecord(None, b"3", TIME + 9),
]


def batch(**fields: Any) -> bytearray:
    fields = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 40, **fields}
    return build_batch(RECORDS, base_offset=BASE, leader_epoch=3, **fields)


def kept(before: bytearray, *newer: bytes, **plan: Any) -> list[bytearray]:
    """What is written of a batch behind which these keys come again."""
    offsets = OffsetMap(10_000)
    offsets.advance(BASE + 2)
    for place, key in enumerate(newer):
        offsets.put(build_batch([NewRecord(key)], base_offset=BASE + 3 + place), 0)
    offsets.latest_offset = plan.pop("latest_offset", BASE + 2)
    made = CleaningPlan(Path(), (), 0, 0, TIME, 99_000, LogConfig(), 0)
    retention = Retention(made._replace(**plan), offsets, CleaningStats())
    return [bytearray(each) for each in retention.keep(memoryview(before))]


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("is_transactional", [False, True])
def test_records_that_stay_are_what_they_were(
    codec: int, is_transactional: bool
) -> None:
    fields = {"compression": codec, "is_transactional": is_transactional}
    before = with_horizon(read_header(batch(**fields)), batch(**fields), TIME + 1)
    old = read_header(before)
    (after,) = kept(before)
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
    (again,) = kept(after, b"a", b"b", latest_offset=BASE + 1)
    assert read_header(again).delete_horizon_ms == TIME + 99_000
    assert list(iterate(again)) == list(iterate(before))[2:]


@pytest.mark.parametrize("codec", range(5))
def test_a_tombstone_that_stays_gives_its_batch_a_horizon(codec: int) -> None:
    before = batch(compression=codec)
    (after,) = kept(before, b"a")
    new = read_header(after)
    assert check_crc(after, new)
    assert (new.delete_horizon_ms, new.compression) == (TIME + 99_000, codec)
    assert list(iterate(after)) == list(iterate(before))[1:2]
    assert kept(after, now_ms=TIME + 98_999) == [after]
    assert kept(after, now_ms=TIME + 99_000, latest_offset=BASE + 1) == []
    (empty,) = kept(after, now_ms=TIME + 99_000)
    assert empty == empty_batch(new), "it ends where the round ends"


def test_the_time_of_a_log_append_stays() -> None:
    before = batch(log_append_time_ms=TIME + 77)
    (with_tombstone,) = kept(before)
    (without,) = kept(before, b"b")
    for after, count in ((with_tombstone, 2), (without, 1)):
        assert read_header(after).max_timestamp == TIME + 77
        times = [record.timestamp for record in iterate(after)]
        assert times == [TIME + 77] * count


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
