"""Rounds over a real log: what is left, where, and what readers get."""

import errno
from dataclasses import replace

import pytest

from odradek.storage.cleaner.plan import DamageFound
from odradek.storage.files.files import DiskFull
from odradek.storage.segment.batch_verification import DamagedBatch
from tests.fakes.files import FakeFiles
from tests.storage.cleaner.cleaning import (
    RETENTION_MS,
    clean,
    compacted_log,
    content,
    headers,
    put,
    records,
    write,
)
from tests.storage.logs import NOW, Producer, produce, reopened


def test_t109_keeps_latest_per_key_offsets_preserved() -> None:
    log = compacted_log()
    write(log, "a1 b1 a2 c1 | b2 a3 | c2")
    end = log.log_end_offset
    next_dirty, stats = clean(log)
    assert content(log) == "3c1 4b2 5a3 6c2"
    assert (next_dirty, log.log_end_offset) == (6, end)
    assert (stats.records_read, stats.records_written) == (6, 3)
    assert [record.offset for record in records(log)] == [3, 4, 5, 6]
    data = log.read(0, 10_000, may_block=True)
    assert bytes(data.records)[:8] == (3).to_bytes(8, "big"), "readers skip gaps"


def test_records_inside_a_batch_are_dropped_too() -> None:
    log = compacted_log()
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), timestamp=NOW + 7)
    write(log, "b2 | z1")
    clean(log)
    assert content(log) == "2a2 3b2 4z1"
    header = headers(log)[0]
    assert (header.base_offset, header.last_offset, header.records_count) == (0, 2, 1)
    assert next(record.timestamp for record in records(log)) == NOW + 7


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_keeps_its_codec(codec: int) -> None:
    log = compacted_log()
    put(log, (b"a", b"1" * 100), (b"b", b"2" * 100), compression=codec)
    write(log, "a2 | z1")
    clean(log)
    assert headers(log)[0].compression == codec
    assert content(log) == f"1b{'2' * 100} 2a2 3z1"


def test_what_nobody_has_to_change_is_copied_byte_for_byte() -> None:
    log = compacted_log()
    write(log, "a1 b1 | c1")
    before = bytes(log.read(0, 10_000, may_block=True).records)
    clean(log)
    assert bytes(log.read(0, 10_000, may_block=True).records) == before


def test_t110_tombstone_two_phase() -> None:
    log = compacted_log()
    write(log, "a1 b1 a- | z1")
    next_dirty, _ = clean(log, 0)
    assert content(log) == "1b1 2a- 3z1"
    horizons = [header.delete_horizon_ms for header in headers(log)]
    assert horizons == [None, NOW + RETENTION_MS, None]
    assert records(log)[1].timestamp == NOW, "the record keeps its time"
    write(log, "| y1")
    next_dirty, _ = clean(log, next_dirty, NOW + RETENTION_MS - 1)
    assert "2a-" in content(log)
    assert headers(log)[1].delete_horizon_ms == NOW + RETENTION_MS, "not put off"
    write(log, "| x1")
    clean(log, next_dirty, NOW + RETENTION_MS)
    assert content(log) == "1b1 3z1 4y1 5x1"


def test_a_value_behind_a_tombstone_is_kept() -> None:
    log = compacted_log()
    write(log, "a1 a- a2 | z1")
    clean(log)
    assert content(log) == "2a2 3z1"


def test_t113_empty_batch_retained_for_last_sequence() -> None:
    """It goes once the producer has written a newer one."""
    log = compacted_log()
    put(log, (b"a", b"1"), producer_id=9, producer_epoch=0, base_sequence=0)
    put(log, (b"b", b"1"))
    write(log, "a2 | z1")
    next_dirty, _ = clean(log)
    first = headers(log)[0]
    assert (first.producer_id, first.records_count, first.last_offset) == (9, 0, 0)
    assert content(log) == "1b1 2a2 3z1"
    again = reopened(log)
    known = again.producers.get(9)
    assert known is not None
    assert known.last_sequence == 0
    put(log, (b"c", b"1"), producer_id=9, producer_epoch=0, base_sequence=1)
    write(log, "| y1")
    clean(log, next_dirty)
    assert [header.base_offset for header in headers(log)] == [1, 2, 3, 4, 5]


def test_the_end_of_a_round_is_never_forgotten() -> None:
    """A log that lost its last batch would begin again at a lower offset."""
    log = compacted_log()
    write(log, "a1 b- |")
    next_dirty, _ = clean(log)
    write(log, "a2 | z1")
    clean(log, next_dirty, NOW + RETENTION_MS)
    assert [header.last_offset for header in headers(log)] == [2, 3]


def test_t115_cleaning_stops_at_lso_and_active() -> None:
    log = compacted_log()
    write(log, "a1 a2 | a3")
    clean(log)
    assert content(log) == "1a2 2a3", "the active segment is left"
    log = compacted_log()
    write(log, "a1 a2 |")
    produce(log, is_transactional=True, producer=Producer(7, 0, 0))
    write(log, "a3 a4 | a5 a6 | a7")
    assert log.last_stable_offset == 2
    clean(log)
    assert content(log).startswith("1a2")
    assert "3a3 4a4 5a5 6a6 7a7" in content(log)


def test_t117_offset_map_full_mid_segment_partial_round() -> None:
    log = compacted_log()
    write(log, "a1 b1 c1 d1 a2 b2 c2 d2 | z1")
    next_dirty, _ = clean(log, map_size=72)
    assert next_dirty == 2, "room for two keys"
    assert content(log) == "0a1 1b1 2c1 3d1 4a2 5b2 6c2 7d2 8z1"
    rounds = 0
    while next_dirty < 8:
        next_dirty, _ = clean(log, next_dirty, map_size=72)
        rounds += 1
    assert rounds == 3
    assert content(log) == "4a2 5b2 6c2 7d2 8z1"


def test_one_key_always_fits() -> None:
    log = compacted_log()
    write(log, "a1 a2 | z1")
    assert clean(log, map_size=0)[0] == 2
    assert content(log) == "1a2 2z1"


def test_t119_grouping_by_size_index_and_offset_span() -> None:
    log = compacted_log()
    write(log, "a1 | b1 | c1 | d1 | z1")
    clean(log)
    bases = [segment.base_offset for segment in log.local.segments]
    assert bases == [0, 4]
    log = compacted_log(segment_bytes=150)
    write(log, "a1 | b1 | c1 | d1 | z1")
    clean(log)
    bases = [segment.base_offset for segment in log.local.segments]
    assert bases == [0, 2, 4]


def test_records_without_a_key_are_counted_and_go() -> None:
    log = compacted_log()
    config = log.config
    log.update_config(replace(config, cleanup_policy=frozenset({"delete"})))
    put(log, (None, b"1"), (b"a", b"1"))
    log.update_config(config)
    write(log, "b1 | z1")
    _, stats = clean(log)
    assert content(log) == "1a1 2b1 3z1"
    assert stats.null_key_count == 1


def test_damage_that_is_not_known_ends_the_round() -> None:
    log = compacted_log()
    write(log, "a1 b1 a2 | z1")
    files = log.local.files
    assert isinstance(files, FakeFiles)
    path = log.local.active.log.path.with_name(f"{0:020d}.log")
    data = bytearray(files.read_bytes(path))
    data[80] ^= 1
    files.write_atomic(path, data)
    with pytest.raises(DamageFound) as found:
        clean(log)
    assert (found.value.base_offset, found.value.position) == (0, 70)


@pytest.mark.parametrize(
    ("flips", "position"),
    [
        ([(3, 6)], 210),  # 67 for 3, where the next segment begins at 4
        ([(2, 6), (3, 7)], 140),  # 66 and 131, which do not contradict each other
    ],
)
def test_an_offset_that_is_wrong_ends_the_round(
    flips: list[tuple[int, int]], position: int
) -> None:
    """Its key would have the latest value, and the round an end beyond the log's.

    The next round knows the damage, and goes on.
    """
    files = FakeFiles()
    log = compacted_log(files)
    write(log, "a1 b1 c1 d1 | d2 | z1")
    for place, bit in flips:
        files.flip(f"{0:020d}.log", 70 * place + 7, bit)
    with pytest.raises(DamageFound) as found:
        clean(log)
    damage = found.value
    assert (damage.base_offset, damage.position) == (0, position)
    log.damage.meet(DamagedBatch(damage.base_offset, damage.position, "found"))
    next_dirty, _ = clean(log)
    assert next_dirty <= log.log_end_offset
    assert all(record.offset < log.log_end_offset for record in records(log))


def test_an_offset_that_the_index_denies_ends_the_round() -> None:
    """4 for 6 fits into the gap that an earlier round has left."""
    files = FakeFiles()
    log = compacted_log(files, index_interval_bytes=60)
    for number, key in enumerate([b"a", b"b", b"a", b"a", b"a", b"a", b"a", b"c"]):
        put(log, (key, b"%d" % number), timestamp=NOW + number)
    write(log, "| z1")
    clean(log)
    assert content(log) == "1b1 6a6 7c7 8z1"
    files.flip(f"{0:020d}.log", 70 + 7, 1)
    with pytest.raises(DamageFound) as found:
        clean(log)
    assert (found.value.base_offset, found.value.position) == (0, 70)


def test_a_tombstone_stays_while_older_values_lie_in_a_segment_with_damage() -> None:
    log = compacted_log()
    write(log, "a1 b1 c1 | a- | z1")
    files = log.local.files
    assert isinstance(files, FakeFiles)
    files.flip(f"{0:020d}.log", 80)
    with pytest.raises(DamageFound) as found:
        clean(log)
    damage = found.value
    log.damage.meet(DamagedBatch(damage.base_offset, damage.position, "found"))
    next_dirty, stats = clean(log)
    counts = stats.records_read, stats.records_written
    assert counts == (1, 1), "the segment that stays as it is does not count"
    write(log, "| y1")
    next_dirty, _ = clean(log, next_dirty, NOW + RETENTION_MS)
    write(log, "| x1")
    clean(log, next_dirty, NOW + 2 * RETENTION_MS)
    assert content(log) == "0a1 2c1 3a- 4z1 5y1 6x1"


def test_a_full_disk_leaves_nothing_behind() -> None:
    files = FakeFiles()
    log = compacted_log(files)
    write(log, "a1 b1 a2 | z1")
    names = sorted(files.listdir(log.directory))
    files.fail("append", error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        clean(log)
    assert sorted(files.listdir(log.directory)) == names
    clean(log)
    assert content(log) == "1b1 2a2 3z1"


def test_a_cleaned_log_is_the_same_after_a_restart() -> None:
    log = compacted_log()
    write(log, "a1 b1 | a2 c1 | b2 | z1")
    clean(log)
    log.flush()
    again = reopened(log)
    assert content(again) == content(log) == "2a2 3c1 4b2 5z1"
    assert again.log_end_offset == log.log_end_offset
    found = again.reading.find_offset(NOW)
    assert found is not None
    assert found.offset == 2


def test_what_is_written_is_synced_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody else's sync has to wait for a whole segment."""
    monkeypatch.setattr("odradek.storage.cleaner.round.WRITE_SIZE", 100)
    counts = []
    for size in (140, 1 << 20):
        monkeypatch.setattr("odradek.storage.cleaner.round.SYNC_SIZE", size)
        files = FakeFiles()
        log = compacted_log(files)
        write(log, "a1 b1 | c1 d1 | e1 f1 | z1")
        before = files.counts["sync"]
        clean(log)
        counts.append(files.counts["sync"] - before)
    assert counts[0] == counts[1] + 2, "the last one would have come anyway"
