"""Segments as one log. `test_local_log_model` compares it with a plain list."""

import logging
from contextlib import suppress

import pytest

from odradek.protocol.errors import OffsetOutOfRange
from odradek.protocol.record_batch import scan
from odradek.storage.files.file_system import DiskFull
from odradek.storage.local.local_log import LocalLog
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import FetchedData
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.files import FakeFiles
from tests.storage.batches import (
    DIRECTORY,
    append,
    batch,
    filled_segment,
    new_log,
    sized_batch,
)


def filled_log(files: FakeFiles | None = None, **options: int) -> LocalLog:
    """Segments 0, 10 and 20, each of two batches of five records."""
    log = new_log(files, **options)
    for base in range(0, 30, 5):
        if base in (10, 20):
            log.roll(base, now_ms=0)
        append(log, batch(base, 5))
    return log


def read(log: LocalLog, offset: int, size_max: int = 1 << 20) -> FetchedData:
    return log.read(offset, size_max, True, log.end)


def bases(data: FetchedData) -> list[int]:
    return [header.base_offset for _, header in scan(data.records)]


def test_new_log_is_empty() -> None:
    log = new_log()
    assert log.end == OffsetMetadata(0, 0, 0)
    assert log.size == 0
    assert read(log, 0).records == b""


def test_log_can_begin_anywhere() -> None:
    log = LocalLog.create(FakeFiles(), DIRECTORY, LogConfig(), 0, start_offset=500)
    append(log, batch(500, 5))
    assert log.end.offset == 505
    assert bases(read(log, 502)) == [500]


def test_append_moves_the_end() -> None:
    log = new_log()
    append(log, batch(0, 5))
    assert log.end == OffsetMetadata(5, 0, log.size)


def test_failed_append_leaves_the_end() -> None:
    files = FakeFiles()
    log = filled_log(files)
    end = log.end
    files.fail("append", error=28)
    with pytest.raises(DiskFull):
        append(log, batch(30, 5))
    assert log.end == end
    append(log, batch(30, 5))
    assert bases(read(log, 30)) == [30]


def test_read_stays_in_one_segment() -> None:
    log = filled_log()
    data = read(log, 3)
    assert bases(data) == [0, 5]
    assert data.offset_metadata == OffsetMetadata(3, 0, 0)
    assert data.aborted is None
    assert bases(read(log, 10)) == [10, 15]


def test_t025_metadata_keeps_the_offset_with_the_position_of_its_batch() -> None:
    log = filled_log()
    size = log.active.size // 2
    assert read(log, 27).offset_metadata == OffsetMetadata(27, 20, size)


def test_t026_read_at_a_gap_moves_forward_across_segments() -> None:
    log = new_log()
    append(log, batch(0, 5))
    log.roll(20, now_ms=0)
    log.roll(40, now_ms=0)
    append(log, batch(40, 5))
    assert log.end.offset == 45
    for offset in (5, 10, 20, 39):
        data = read(log, offset)
        assert bases(data) == [40]
        assert data.offset_metadata == OffsetMetadata(offset, 40, 0)


def test_t033_read_at_the_end_is_empty_and_beyond_is_an_error() -> None:
    log = filled_log()
    assert read(log, 30) == FetchedData(log.end, b"")
    with pytest.raises(OffsetOutOfRange, match="31"):
        read(log, 31)


def test_t033_read_below_the_first_segment_is_an_error() -> None:
    log = filled_log()
    log.remove_segments([log.segments.first])
    with pytest.raises(OffsetOutOfRange, match="10 to 30"):
        read(log, 9)


def test_t034_read_between_limit_and_end_is_empty_with_its_own_place() -> None:
    log = filled_log()
    limit = log.convert_to_offset_metadata(15)
    for offset in (15, 17, 20, 29, 30):
        data = log.read(offset, 1 << 20, True, limit)
        assert data.records == b""
        assert data.offset_metadata == log.convert_to_offset_metadata(offset)
    assert log.read(15, 99, True, limit).offset_metadata == limit


def test_read_ends_at_the_limit() -> None:
    log = filled_log()
    limit = log.convert_to_offset_metadata(15)
    assert bases(log.read(12, 1 << 20, True, limit)) == [10]
    assert bases(log.read(2, 1 << 20, True, limit)) == [0, 5]


def test_limit_without_a_place_shows_nothing() -> None:
    log = filled_log()
    data = log.read(12, 1 << 20, True, OffsetMetadata(15))
    assert data.records == b""
    assert data.offset_metadata.offset == 12


def test_convert_to_offset_metadata() -> None:
    log = filled_log()
    size = log.active.size // 2
    assert log.convert_to_offset_metadata(0) == OffsetMetadata(0, 0, 0)
    assert log.convert_to_offset_metadata(7) == OffsetMetadata(7, 0, size)
    assert log.convert_to_offset_metadata(10) == OffsetMetadata(10, 10, 0)
    assert log.convert_to_offset_metadata(30) == log.end
    for offset in (-1, 31):
        with pytest.raises(OffsetOutOfRange):
            log.convert_to_offset_metadata(offset)


def test_readers_at_the_end_read_once_from_then_on() -> None:
    files = FakeFiles()
    # Far from its only index entry: the way from there takes more than one read.
    log = new_log(files, index_interval_bytes=1 << 30)
    append(log, batch(0, 2000))
    append(log, sized_batch(2000, 200))
    assert bases(read(log, 2000)) == [2000]
    for offset in (2001, 2002, 2003):
        append(log, sized_batch(offset, 200))
        for _ in range(3):
            files.counts.clear()
            assert bases(read(log, offset)) == [offset]
            assert files.counts["read"] == 1


def test_remembered_place_is_forgotten_by_truncation() -> None:
    log = new_log()
    append(log, sized_batch(0, 200))
    append(log, sized_batch(1, 200))
    read(log, 0)  # up to the end: offset 2 would begin at position 400
    log.truncate_to(1, now_ms=0)
    append(log, sized_batch(1, 150))
    append(log, sized_batch(2, 50 + 100))
    append(log, sized_batch(3, 150))
    log.truncate_to(1, now_ms=0)
    for offset, size in ((1, 100), (2, 100), (3, 100)):
        append(log, sized_batch(offset, size))
    assert bases(read(log, 2)) == [2, 3]


def test_remembered_place_is_that_of_the_limits_segment() -> None:
    log = new_log()
    append(log, sized_batch(0, 200))
    append(log, sized_batch(1, 200))
    log.roll(2, now_ms=0)
    append(log, sized_batch(2, 200))
    append(log, sized_batch(3, 200))
    append(log, sized_batch(4, 200))
    limit = log.convert_to_offset_metadata(4)
    assert limit.position == log.segments.first.size
    log.read(0, 1 << 20, True, limit)  # ends where the limit is in the other segment
    assert bases(read(log, 0)) == [0, 1]
    assert bases(read(log, 4)) == [4]
    with pytest.raises(OffsetOutOfRange):
        read(log, 6)
    assert log.segments.first.reader.read(4, None, 1 << 20) is None


def test_reader_at_the_limit_gets_the_limits_own_place() -> None:
    log = filled_log()
    limit = log.end
    log.roll(30, now_ms=0)
    assert limit != log.end
    assert log.read(30, 1 << 20, True, limit).offset_metadata == limit


# Rolling.


def test_roll_seals_and_begins_a_new_segment() -> None:
    files = FakeFiles()
    log = filled_log(files, index_interval_bytes=0)
    sealed = log.active
    segment = log.roll(30, now_ms=0)
    assert log.active is segment is log.segments.last
    assert log.end == OffsetMetadata(30, 30, 0)
    assert not sealed.indexes.offsets.is_growing
    assert len(files.content("00000000000000000020.index")) == 8
    append(log, batch(30, 5))
    assert bases(read(log, 25)) == [25]
    assert bases(read(log, 30)) == [30]


def test_roll_to_an_offset_beyond_the_end() -> None:
    log = filled_log()
    log.roll(50, now_ms=0)
    assert log.active.base_offset == 50
    assert log.end == OffsetMetadata(30, 50, 0)


def test_roll_never_goes_below_the_end() -> None:
    log = filled_log()
    assert log.roll(0, now_ms=0).base_offset == 30


def test_t024_roll_on_zero_capacity_index_recreates_same_base() -> None:
    log = new_log(segment_index_bytes=4)
    old = log.active
    assert old.should_roll(10, 1000, 0, 0)
    new = log.roll(0, now_ms=0)
    assert new is not old
    assert (new.base_offset, len(log.segments)) == (0, 1)
    append(log, batch(0, 5))
    assert bases(read(log, 0)) == [0]


def test_stale_files_in_the_way_are_removed_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    files = FakeFiles()
    log = filled_log(files)
    for kind in (".log", ".txnindex"):
        files.put(DIRECTORY / f"{30:020d}{kind}", b"stale")
    log.roll(30, now_ms=0)
    assert log.active.size == 0
    assert not files.exists(DIRECTORY / f"{30:020d}.txnindex")
    assert caplog.text.count("removed") == 2


@pytest.mark.parametrize("nth", range(1, 12))
def test_failed_roll_leaves_the_active_segment(nth: int) -> None:
    files = FakeFiles()
    log = filled_log(files, index_interval_bytes=0)
    end, active = log.end, log.active
    files.fail(nth=nth, error=28)
    try:
        log.roll(30, now_ms=0)
    except DiskFull:
        assert (log.end, log.active) == (end, active)
        assert not files.exists(DIRECTORY / f"{30:020d}.log")
    else:
        assert nth > 5
    files.heal()
    append(log, batch(30, 5))
    assert bases(read(log, 25))[0] == 25
    assert bases(read(log, 30)) == [30]
    assert log.roll(35, now_ms=0).base_offset == 35


def test_failed_remake_of_an_empty_segment_leaves_it() -> None:
    for nth in range(1, 4):
        files = FakeFiles()
        log = new_log(files)
        files.fail(nth=nth, error=28)
        with suppress(DiskFull):
            log.roll(0, now_ms=0)
        files.heal()
        append(log, batch(0, 5))
        assert bases(read(log, 0)) == [0]
        log.close()


def test_a_place_that_is_not_there_is_message_only() -> None:
    log = filled_log()
    log.remove_segments([log.segments.first])
    for offset in (0, 9, 31):
        found = log.maybe_convert_to_offset_metadata(offset)
        assert found == OffsetMetadata(offset)
        assert found.is_message_only
    assert log.maybe_convert_to_offset_metadata(30) == log.end


# Truncation, removal, options.


def test_t028_truncate_mid_batch() -> None:
    log = filled_log()
    gone = log.truncate_to(17, now_ms=0)
    assert [segment.base_offset for segment in gone] == [20]
    assert log.end == OffsetMetadata(17, 10, log.active.size)
    assert bases(read(log, 10)) == [10]
    append(log, batch(17, 3))
    assert bases(read(log, 10)) == [10, 17]


def test_truncate_to_a_base_leaves_an_empty_active_segment() -> None:
    files = FakeFiles()
    log = filled_log(files)
    for segment in log.truncate_to(10, now_ms=0):
        segment.delete_files()
    assert log.end == OffsetMetadata(10, 10, 0)
    assert {path.name[:20] for path in files.paths()} == {f"{0:020d}", f"{10:020d}"}
    append(log, batch(10, 5))
    assert bases(read(log, 10)) == [10]


def test_truncate_fully() -> None:
    files = FakeFiles()
    log = filled_log(files)
    gone = log.truncate_fully_and_start_at(100, now_ms=0)
    assert len(gone) == 3
    assert log.end == OffsetMetadata(100, 100, 0)
    for segment in gone:
        segment.delete_files()
    assert {path.name for path in files.paths()} == {f"{100:020d}.log"}
    append(log, batch(100, 5))
    assert bases(read(log, 100)) == [100]


def test_removed_segments_keep_their_files_until_they_are_deleted() -> None:
    files = FakeFiles()
    log = filled_log(files)
    first = log.segments.first
    log.remove_segments([first])
    assert log.segments.first.base_offset == 10
    assert files.exists(DIRECTORY / f"{0:020d}.log.deleted")
    first.delete_files()
    assert not files.exists(DIRECTORY / f"{0:020d}.log.deleted")


def test_options_reach_every_segment() -> None:
    log = filled_log()
    log.update_config(LogConfig(segment_bytes=10))
    assert {segment.config.segment_bytes for segment in log.segments} == {10}
    assert log.active.should_roll(5, 1000, 30, 0)


def test_log_follows_its_directory_and_is_read_after_close() -> None:
    files = FakeFiles()
    log = filled_log(files)
    elsewhere = DIRECTORY.with_name("topic-0.abc-delete")
    files.rename(DIRECTORY, elsewhere)
    log.moved(elsewhere)
    log.close()
    assert bases(read(log, 10)) == [10, 15]
    assert {path.parent for path in files.paths()} == {elsewhere}


def test_segment_files_have_kafkas_names() -> None:
    files = FakeFiles()
    filled_segment(files).close()
    names = [path.name for path in files.paths()]
    assert names == [f"{0:020d}{kind}" for kind in (".index", ".log", ".timeindex")]
