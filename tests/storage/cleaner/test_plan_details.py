import pytest

from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.plan_details import with_details
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.storage.cleaner.cleaning import MAP_SIZE, compacted_log, end, put, write
from tests.storage.logs import DIRECTORY, NOW, reopened


def filled(files: FakeFiles | None = None) -> UnifiedLog:
    log = compacted_log(files, index_interval_bytes=1)
    put(log, (b"a", b"1"), producer_id=1, producer_epoch=0, is_transactional=True)
    write(log, "b1 c1 | b2 |")
    end(log, 1, commits=False)  # in the active segment
    log.visibility.raise_to(log.end_metadata)
    return log


def test_sizes_and_aborted_transactions_are_those_of_the_files() -> None:
    """Though nobody has asked the indexes for anything yet."""
    log = filled()
    for segment in log.local.segments:
        segment.flush_indexes()
    log = reopened(log, was_clean=True, recovery_point=log.log_end_offset)
    log.visibility.raise_to(log.end_metadata)
    plan = plan_round(log, find_cleanable(log, 0, NOW), NOW, MAP_SIZE)
    assert not plan.segments[0].offset_index_size
    plan = with_details(log.local.files, plan)
    first, second = plan.segments
    assert (first.offset_index_size, first.time_index_size) == (16, 12)
    assert not second.offset_index_size
    (entry,) = plan.aborted
    assert (entry.producer_id, entry.first_offset, entry.last_offset) == (1, 0, 4)


def test_one_that_cannot_be_believed_is_told() -> None:
    files = FakeFiles()
    log = filled(files)
    plan = plan_round(log, find_cleanable(log, 0, NOW), NOW, MAP_SIZE)
    files.put(DIRECTORY / f"{4:020d}.txnindex", b"?" * 34)
    with pytest.raises(CorruptIndex):
        with_details(files, plan)
