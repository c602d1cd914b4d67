"""The dirty part is read, and nothing of it that is of no use is noted."""

from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.map_builder import build_offset_map
from odradek.storage.cleaner.offset_map import OffsetMap
from odradek.storage.cleaner.plan_details import with_details
from odradek.storage.log.unified_log import UnifiedLog
from tests.storage.cleaner.cleaning import MAP_SIZE, compacted_log, end, put, write
from tests.storage.cleaner.test_offset_map import last_offsets
from tests.storage.logs import NOW

KEYS = (b"a", b"b", b"c", b"d")


def built(log: UnifiedLog, first_dirty: int = 0, size: int = MAP_SIZE) -> OffsetMap:
    log.visibility.raise_to(log.end_metadata)
    plan = plan_round(log, find_cleanable(log, first_dirty, NOW), NOW, size)
    files = log.local.files
    return build_offset_map(files, with_details(files, plan))


def test_only_what_is_dirty_counts() -> None:
    log = compacted_log()
    write(log, "a1 b1 c1 | d1 | z1")
    offsets = built(log, 2)
    assert last_offsets(offsets, KEYS) == {b"c": 2, b"d": 3}
    assert offsets.latest_offset == 3


def test_neither_markers_nor_aborted_records_count() -> None:
    log = compacted_log()
    fields = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
    put(log, (b"a", b"1"), base_sequence=0, **fields)  # type: ignore[arg-type]
    end(log, 1, commits=False)
    put(log, (b"b", b"1"), base_sequence=1, **fields)  # type: ignore[arg-type]
    end(log, 1, commits=True)
    write(log, "| z1")
    assert last_offsets(built(log), KEYS) == {b"b": 2}
    assert built(log).latest_offset == 3, "the marker is behind us, too"


def test_a_transaction_that_began_in_the_clean_part_is_known() -> None:
    log = compacted_log()
    fields = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
    put(log, (b"a", b"1"), base_sequence=0, **fields)  # type: ignore[arg-type]
    put(log, (b"b", b"1"), base_sequence=1, **fields)  # type: ignore[arg-type]
    end(log, 1, commits=False)
    write(log, "| z1")
    assert last_offsets(built(log, 1), KEYS) == {}
