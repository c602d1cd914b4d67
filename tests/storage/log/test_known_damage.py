"""Readers of a log in which a bit has flipped: they pass over it, and it is kept."""

import pytest

from odradek.protocol.record_batch import read_header
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.values.log_read import FetchIsolation
from tests.storage.logs import (
    EPOCH,
    NOW,
    closed,
    files_of,
    filled,
    new_log,
    produce,
    read_all,
    reopened,
    sync,
)

HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK


def damaged() -> UnifiedLog:
    """A log in which the batch of offsets 12 to 14 has a flipped bit."""
    log = closed(filled(batches=10, segment_bytes=100_000))
    size = len(files_of(log).content("00000000000000000000.log")) // 10
    files_of(log).flip("00000000000000000000.log", 4 * size + 70)
    return reopened(log, was_clean=True, recovery_point=30)


def test_a_reader_passes_over_a_damaged_batch() -> None:
    log = damaged()
    assert len(log.damage) == 0
    found = [record.offset for record in read_all(log)]
    assert found == [*range(12), *range(15, 30)]
    assert len(log.damage) == 1
    empty = read_header(log.read(13, 1000).records)
    assert (empty.base_offset, empty.last_offset, empty.records_count) == (12, 14, 0)


def test_what_is_quarantined_stays_so() -> None:
    log = damaged()
    read_all(log)
    (entry,) = log.quarantine
    assert (entry.base_offset, entry.last_offset) == (12, 14)
    again = reopened(log, was_clean=True, recovery_point=30)
    assert list(again.quarantine) == [entry]
    assert read_all(again) == read_all(log)


def test_time_is_looked_up_behind_damage() -> None:
    log = new_log(segment_bytes=100_000)
    for number in range(10):
        produce(log, 3, timestamp=NOW + number)
    sync(log)
    closed(log)
    size = len(files_of(log).content("00000000000000000000.log")) // 10
    files_of(log).flip("00000000000000000000.log", 4 * size + 70)
    again = reopened(log, was_clean=True, recovery_point=30)
    found = again.reading.find_offset(NOW + 4)
    assert found == (NOW + 5, 15, EPOCH)
    assert len(again.damage) == 1


def test_the_log_goes_on_behind_damage() -> None:
    log = damaged()
    log.increment_log_start(13)
    assert produce(log).base_offset == 30
    assert log.visibility.raise_to(31)
    assert len(read_all(log, HIGH_WATERMARK)) == 16
    log.truncation.truncate_to(13, NOW)
    assert (log.log_end_offset, log.log_start_offset) == (13, 13)
    assert produce(log).base_offset == 13


def test_a_high_watermark_behind_damage_finds_its_place() -> None:
    log = damaged()
    log.visibility.restore(21)
    found = [record.offset for record in read_all(log, HIGH_WATERMARK)]
    assert found == [*range(12), *range(15, 21)]
    assert not log.visibility.high_watermark_metadata.is_message_only


def test_damage_that_stays_in_the_way_is_not_looked_at_for_ever() -> None:
    log = damaged()
    with pytest.raises(DamagedBatch):
        log.damage.meet(DamagedBatch(999, 0, "no such segment"))
    segment = log.local.active
    read_all(log)
    position = next(iter(log.quarantine)).start
    again = DamagedBatch(segment.base_offset, position, "again")
    log.damage.meet(again)
    with pytest.raises(DamagedBatch):
        log.damage.meet(again)


@pytest.mark.parametrize("bit", range(64))
def test_an_index_that_changes_on_its_disk_costs_no_record(bit: int) -> None:
    """This process has made it, and does not doubt it."""
    log = filled()
    first = next(iter(log.local.segments))
    assert first.indexes.are_certain
    files_of(log).flip("00000000000000000000.index", bit // 8, bit % 8)
    first.reader.forget_places()  # they are in memory no more
    for offset in range(first.reader.end.limit):
        data = log.read(offset, 100).records
        header = read_header(data)
        assert header.base_offset <= offset <= header.last_offset
        assert header.records_count == 3
    assert len(log.damage) == 0


def test_a_batch_that_is_sound_is_never_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = filled()
    base_offset = log.local.active.base_offset
    met = DamagedBatch(base_offset, 0, "no valid batch")
    log.damage.meet(met)
    assert "no valid batch; the log is sound there" in caplog.text
    with pytest.raises(DamagedBatch):
        log.damage.meet(met)
    log.damage.meet(met)
    assert len(log.damage) == 0
    assert len(read_all(log)) == 90


@pytest.mark.parametrize("was_clean", [True, False])
def test_what_was_appended_behind_bytes_that_nobody_has_read_is_sound(
    was_clean: bool,
) -> None:
    """A log that was opened again; the batch is too large to be kept in memory."""
    log = filled(batches=5, segment_bytes=100_000)
    if was_clean:
        closed(log)
    log = reopened(log, was_clean=was_clean, recovery_point=15)
    produce(log, 3, value=bytes(6000))
    sync(log)
    header = read_header(log.read(15, 1000).records)
    assert (header.base_offset, header.last_offset) == (15, 17)
    assert header.batch_length > 6000
    assert len(log.damage) == 0
