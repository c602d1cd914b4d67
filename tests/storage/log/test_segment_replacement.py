"""A cleaned segment takes the place of others, whatever ends the process meanwhile."""

import errno
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.records import BatchFields
from odradek.storage.cleaner.choice import find_cleanable, plan_round
from odradek.storage.cleaner.plan import CleanedSegment
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.files.files import DiskFull, StorageFailure
from odradek.storage.log.segment_replacement import SegmentReplacement
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.storage.cleaner.cleaning import (
    MAP_SIZE,
    clean,
    compacted_log,
    content,
    end,
    put,
    take_in,
    write,
)
from tests.storage.logs import NOW, reopened, sync

TEXT = "a1 b1 | a2 c1 | b2 d1 | a3 | z1"
PRODUCER: BatchFields = {
    "producer_id": 1,
    "producer_epoch": 0,
    "is_transactional": True,
}
CLEANED = "3c1 4b2 5d1 6a3 7z1"


def latest(text: str) -> dict[str, str]:
    """The last value of each key in a log's content."""
    found = {}
    for word in text.split():
        at = next(place for place, letter in enumerate(word) if letter.isalpha())
        found[word[at]] = word[at + 1 :]
    return found


def cleaned_of(log: UnifiedLog, first_dirty: int = 0) -> CleanedSegment:
    log.visibility.raise_to(log.end_metadata)
    cleanable = find_cleanable(log, first_dirty, NOW)
    cleaning = CleaningRound(log.local.files, plan_round(log, cleanable, NOW, MAP_SIZE))
    cleaned = cleaning.clean_next()
    assert cleaned is not None
    return cleaned


def names_of(log: UnifiedLog) -> list[str]:
    return log.local.files.listdir(log.directory)


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
    cleaned = cleaned_of(log)
    others = cleaned._replace(replaced=(*cleaned.replaced, 77))
    old = take_in(log, others)
    assert [each.base_offset for each in old] == list(cleaned.replaced)
    assert content(log) == CLEANED


def test_old_files_wait_under_names_of_their_own() -> None:
    log = compacted_log()
    write(log, "a1 a2 | z1")
    first = take_in(log, cleaned_of(log))
    write(log, "| a3 | y1")
    second = take_in(log, cleaned_of(log))
    logs = [name for name in names_of(log) if ".log." in name]
    assert len(logs) == 4, "one of the first round, three of the second"
    for old in first:
        old.delete_files()
    assert len([name for name in names_of(log) if ".log." in name]) == 3
    for old in second:
        old.delete_files()
    assert not [name for name in names_of(log) if name.endswith(".deleted")]
    assert content(log) == "2z1 3a3 4y1"


def test_old_transactions_do_not_come_back_with_the_next_start() -> None:
    """Of the old segment everything waits to be removed, its aborted ones, too."""
    log = compacted_log()
    put(log, (b"a", b"1"), base_sequence=0, **PRODUCER)
    end(log, 1, commits=False)
    put(log, (b"b", b"1"), base_sequence=1, **PRODUCER)
    end(log, 1, commits=True)
    write(log, "| z1 | y1")
    sync(log)
    for _ in range(2):  # the first one tells of what it has removed
        assert next(iter(log.local.segments)).transactions.entries()
        take_in(log, cleaned_of(log))
    assert [name for name in names_of(log) if ".txnindex." in name]
    again = reopened(log, recovery_point=log.recovery_point)
    first = next(iter(again.local.segments))
    assert not first.transactions.entries()
    assert content(again) == content(log)


def test_a_segment_that_nobody_wants_leaves_nothing() -> None:
    log = compacted_log()
    write(log, TEXT)
    before = content(log)
    cleaned = cleaned_of(log)
    replacement = SegmentReplacement(log, *cleaned[:2], NOW)
    for job in replacement.steps(lambda: False):
        job()
    assert not replacement.old
    assert content(log) == before
    assert not [name for name in names_of(log) if name.endswith((".swap", ".cleaned"))]


@pytest.mark.parametrize("text", [TEXT, "a1 a2 | z1"])
def test_a_partition_that_is_deleted_meanwhile_is_left_alone(text: str) -> None:
    """What has its name by then keeps its files."""
    for moment in range(1, 20):
        log = compacted_log()
        write(log, text)
        steps = SegmentReplacement(log, *cleaned_of(log)[:2], NOW).steps()
        for number, job in enumerate(steps, 1):
            job()
            if number == moment:
                elsewhere = log.directory.with_name("topic-0.uuid-delete")
                log.local.files.rename(log.directory, elsewhere)
                log.retire(elsewhere)
                other = compacted_log(log.local.files)
                write(other, TEXT)
                names = names_of(other)
                assert not list(steps)
                assert names_of(other) == names
                break
        else:
            assert moment > 2
            return
    raise AssertionError("it never ends")


def test_a_full_disk_in_the_middle_fails_the_log() -> None:
    """Before the first step is over it is only a round that comes to nothing."""
    files = FakeFiles()
    kinds = set()
    for nth in range(1, 60):
        log = compacted_log(files, segment_bytes=250)
        write(log, "a1 | b1 | a2 | z1")
        steps = SegmentReplacement(log, *cleaned_of(log)[:2], NOW).steps()
        files.fail("rename", nth=nth, error=errno.ENOSPC)
        try:
            for job in steps:
                job()
        except DiskFull:
            kinds.add("full")
            assert content(log).startswith("0a1 1b1"), "nothing has changed"
            assert not [name for name in names_of(log) if name.endswith(".swap")]
        except StorageFailure:
            kinds.add("failed")
        else:
            break
        finally:
            files.heal()
            files.rmtree(log.directory)
    assert kinds == {"full", "failed"}
