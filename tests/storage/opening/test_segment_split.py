"""A segment with offsets too far from its base is split when the log is opened."""

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.record_batch import scan, stamp
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    pack_transaction_entry,
)
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.segment_split import (
    SegmentPart,
    find_parts,
    split_overflows,
)
from tests.fakes.files import FakeFiles
from tests.storage.logs import DIRECTORY, files_of, new_log, produce, reopened

FAR = RELATIVE_OFFSET_MAX + 1
OFFSETS = [0, 7, FAR - 1, FAR, FAR + 5, 2 * FAR + 9]
END = 2 * FAR + 10
PARTS = [0, FAR, 2 * FAR + 9]


def merged() -> tuple[UnifiedLog, FakeFiles]:
    """A log whose only segment holds all of OFFSETS, as an old cleaner left it."""
    log = new_log(cleanup_policy=frozenset({"compact"}))
    files = files_of(log)
    data = bytearray()
    for offset in OFFSETS:
        batch = build_batch([NewRecord(b"%d" % offset, b"value", 1000)])
        stamp(batch, offset, 4)
        data += batch
    log.close()
    for path in files.paths():
        files.unlink(path)
    files.put(DIRECTORY / f"{0:020d}.log", bytes(data))
    entries = [TransactionEntry(7, 0, offset, offset) for offset in OFFSETS[1:]]
    files.put(
        DIRECTORY / f"{0:020d}.txnindex", b"".join(map(pack_transaction_entry, entries))
    )
    return log, files


def batch_offsets(log: UnifiedLog) -> list[int]:
    found, offset = [], 0
    while len(data := log.read(offset, 1 << 20, may_block=True).records):
        for _, header in scan(data):
            found.append(header.base_offset)
            offset = header.next_offset
    return found


@pytest.mark.parametrize("was_clean", [True, False])
def test_t075_overflow_segment_split_on_load(was_clean: bool) -> None:
    log, _ = merged()
    again = reopened(log, was_clean=was_clean, recovery_point=END)
    assert [segment.base_offset for segment in again.local.segments] == PARTS
    assert batch_offsets(again) == OFFSETS
    assert again.log_end_offset == END
    assert not len(again.damage)
    for offset in OFFSETS:
        assert len(again.read(offset, 1, may_block=True).records)
    assert produce(again, value=b"v").base_offset == END


def test_each_part_has_its_share_of_the_transaction_index() -> None:
    _, files = merged()
    split_overflows(files, DIRECTORY, [0], END)
    sizes = [files.size(DIRECTORY / f"{base:020d}.txnindex") // 34 for base in PARTS]
    assert sizes == [2, 2, 1]


def test_every_byte_is_kept() -> None:
    _, files = merged()
    before = files.content(f"{0:020d}.log")
    assert split_overflows(files, DIRECTORY, [0], END) == PARTS[1:]
    parts = [files.content(f"{base:020d}.log") for base in PARTS]
    assert b"".join(parts) == before
    assert split_overflows(files, DIRECTORY, PARTS, END) == []


def test_an_offset_that_nobody_can_have_seen_is_damage_not_distance() -> None:
    _, files = merged()
    size = files.size(DIRECTORY / f"{0:020d}.log")
    first, second = find_parts(files, DIRECTORY, 0, FAR + 1)
    assert first == SegmentPart(0, 0, second.start)
    assert second == SegmentPart(FAR, second.start, size)
    assert split_overflows(files, DIRECTORY, [0], 8) == []


@pytest.mark.parametrize("loses_power", [False, True])
def test_t075_a_crash_at_any_step_is_finished_or_undone(loses_power: bool) -> None:
    step = 1
    while True:
        log, files = merged()
        files.sync_directory(DIRECTORY)
        files.fail(nth=step)
        try:
            reopened(log, was_clean=True, recovery_point=END)
        except KafkaStorageError:
            pass
        else:
            break
        files.heal()
        if loses_power:
            files.power_cut()
        again = reopened(log, was_clean=False, recovery_point=END)
        assert batch_offsets(again) == OFFSETS, step
        assert [segment.base_offset for segment in again.local.segments] == PARTS
        step += 1
    assert step > 20
