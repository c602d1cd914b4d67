"""A cleaned segment takes the place of others, whatever ends the process meanwhile."""

from contextlib import suppress
from pathlib import Path

import pytest

from protocol.errors import KafkaStorageError
from storage.cleaner.choice import find_cleanable, plan_round
from storage.cleaner.round import CleaningRound
from storage.segment_replacement import replace_segments
from storage.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles

from .cleaner.cleaning import MAP_SIZE, clean, compacted_log, content, write
from .logs import NOW, reopened, sync

TEXT = "a1 b1 | a2 c1 | b2 d1 | a3 | z1"
CLEANED = "3c1 4b2 5d1 6a3 7z1"


def latest(text: str) -> dict[str, str]:
    """The last value of each key in a log's content."""
    found = {}
    for word in text.split():
        at = next(place for place, letter in enumerate(word) if letter.isalpha())
        found[word[at]] = word[at + 1 :]
    return found


def test_old_segments_go_and_the_new_one_is_read() -> None:
    log = compacted_log()
    write(log, TEXT)
    reader = log.read(0, 1000, may_block=True)
    before = bytes(reader.records)
    clean(log)
    assert content(log) == CLEANED
    assert bytes(reader.records) == before, "who reads goes on"
    names = {Path(name).suffix for name in log.local.files.listdir(log.directory)}
    assert not names & {".cleaned", ".swap", ".deleted"}


def interrupted(nth: int, *, loses_power: bool) -> tuple[UnifiedLog, bool]:
    """The log as the next process finds it, after the ``nth`` call was the last.

    And whether the round was over by then.
    """
    files = FakeFiles()
    log = compacted_log(files, segment_bytes=250)
    write(log, TEXT)
    sync(log)
    files.sync_directory(log.directory)
    for call in range(nth, nth + 60):  # nothing works any more
        files.fail(nth=call)
    is_over = False
    with suppress(KafkaStorageError):
        clean(log)
        is_over = True
    files.heal()
    if loses_power:
        files.power_cut()
    return reopened(log, recovery_point=log.recovery_point), is_over


@pytest.mark.parametrize("loses_power", [False, True])
def test_t120_crash_points_each_rename_step(loses_power: bool) -> None:
    seen = set()
    for nth in range(1, 200):
        log, is_over = interrupted(nth, loses_power=loses_power)
        assert latest(content(log)) == latest(CLEANED), nth
        assert log.log_end_offset == 8
        names = log.local.files.listdir(log.directory)
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        seen.add(content(log))
        next_dirty, _ = clean(log)
        assert (content(log), next_dirty) == (CLEANED, 7), nth
        if is_over:
            break
    else:
        raise AssertionError("the round never ends")
    assert len(seen) > 2, "some steps leave the old, some the new, some both"


def test_a_segment_that_is_gone_already_is_not_missed() -> None:
    log = compacted_log()
    write(log, TEXT)
    cleanable = find_cleanable(log, 0, NOW)
    cleaning = CleaningRound(log.local.files, plan_round(log, cleanable, NOW, MAP_SIZE))
    cleaned = cleaning.clean_next()
    assert cleaned is not None
    old = replace_segments(log, cleaned.base_offset, (*cleaned.replaced, 77), NOW)
    assert [each.base_offset for each in old] == list(cleaned.replaced)
    assert content(log) == CLEANED
