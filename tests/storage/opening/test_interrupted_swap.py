"""A swap that was interrupted loses nothing, whichever bit has flipped meanwhile."""

import os
import random
from contextlib import suppress
from copy import deepcopy
from functools import cache

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.record_batch import scan
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.storage.cleaner.cleaning import clean, compacted_log, content, write
from tests.storage.logs import DIRECTORY, reopened, sync

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
FLIPS, STRIDE = (40, 1) if IS_LONG else (2, 9)
TEXT = "a1 b1 | a2 c1 | b2 d1 | a3 e1 | f1 g- | a4 | z1"
CLEANED = "3c1 4b2 5d1 7e1 8f1 9g- 10a4 11z1"
LATEST = {"a": "4", "b": "2", "c": "1", "d": "1", "e": "1", "f": "1", "g": "-"}
TWO_IN_ONE, ALL_IN_ONE = 290, 1 << 20
SWAP = f"{0:020d}.log.swap"


def latest(text: str) -> dict[str, str]:
    """The last value of each key, but for the one that is not cleaned."""
    found = {}
    for word in text.split():
        at = next(place for place, letter in enumerate(word) if letter.isalpha())
        found[word[at]] = word[at + 1 :]
    found.pop("z", None)
    return found


def offsets(text: str) -> list[int]:
    return [int(word.rstrip("-0123456789")[:-1]) for word in text.split()]


def interrupted(nth: int, segment_bytes: int, loses_power: bool) -> UnifiedLog | None:
    """A log of which the ``nth`` call of a round of cleaning was the last.

    None if the round was over by then.
    """
    files = FakeFiles()
    log = compacted_log(files, segment_bytes=segment_bytes)
    write(log, TEXT)
    sync(log)
    files.sync_directory(log.directory)
    for call in range(nth, nth + 300):  # nothing works any more
        files.fail(nth=call)
    with suppress(KafkaStorageError):
        clean(log)
        return None
    files.heal()
    if loses_power:
        files.power_cut()
    return log


@cache
def swapping(segment_bytes: int) -> list[UnifiedLog]:
    """What is left by a crash in a step in which there is a swap."""
    logs = []
    for nth in range(1, 1000, STRIDE):
        for loses_power in (False, True):
            log = interrupted(nth, segment_bytes, loses_power)
            if log is None:
                assert len(logs) > 3
                return logs
            if has_swap(log):
                logs.append(log)
    raise AssertionError("the round never ends")


def has_swap(log: UnifiedLog) -> bool:
    """Whether one was announced: before, what was written is undone."""
    names = " ".join(names_of(log))
    return ".log.swap" in names and ".cleaned" not in names


def names_of(log: UnifiedLog) -> list[str]:
    return log.local.files.listdir(DIRECTORY)


def again(log: UnifiedLog, *flips: tuple[str, int, int]) -> UnifiedLog:
    """The log as the next process finds it, with these bits flipped."""
    copied = deepcopy(log.local.files)
    assert isinstance(copied, FakeFiles)
    for flip in flips:
        copied.flip(*flip)
    log.local.files, before = copied, log.local.files
    try:
        return reopened(log, recovery_point=log.recovery_point)
    finally:
        log.local.files = before


def starts(log: UnifiedLog, name: str) -> list[int]:
    files = log.local.files
    assert isinstance(files, FakeFiles)
    return [position for position, _ in scan(files.content(DIRECTORY / name))]


def flips_of(log: UnifiedLog, chance: random.Random) -> list[tuple[str, int, int]]:
    """Bits in the new segments and the old ones, more often of base offsets."""
    files = log.local.files
    swapped = {int(n[:20]) for n in names_of(log) if n.endswith(".log.swap")}
    first = min(swapped)
    limit = 11  # the active one is not swapped
    if log.config.segment_bytes == TWO_IN_ONE:
        limit = min(first + 4, 11)
    found = []
    for name in names_of(log):
        is_of_it = name[0] == "0" and first <= int(name[:20]) < limit
        if not is_of_it or not files.size(DIRECTORY / name):
            continue
        if ".log" in name:
            for start in starts(log, name):
                found += [(name, start + at // 8, at % 8) for at in range(64)]
        else:
            size = files.size(DIRECTORY / name)
            found += [(name, at // 8, at % 8) for at in range(8 * size)]
    last = [each for each in found if each[0].endswith(".log.swap")][-64:]
    chosen = chance.sample(found, min(FLIPS, len(found)))
    chosen += chance.sample(last, min(FLIPS, len(last)))
    for name, _, bit in chance.sample(found, FLIPS):
        size = files.size(DIRECTORY / name)
        chosen.append((name, chance.randrange(size), bit))
    return chosen


@pytest.mark.parametrize("segment_bytes", [TWO_IN_ONE, ALL_IN_ONE])
def test_no_flipped_bit_costs_a_key_its_latest_value(segment_bytes: int) -> None:
    for number, log in enumerate(swapping(segment_bytes)):
        for flip in flips_of(log, random.Random(number)):
            try:
                found = again(log, flip)
                assert latest(content(found)) == LATEST
                seen = offsets(content(found))
                assert seen == sorted(set(seen))
                assert found.log_end_offset == 12
                assert content(again(found)) == content(found)
            except Exception as error:
                error.add_note(f"state {number}, {flip}, {names_of(log)}")
                raise


@pytest.mark.parametrize("segment_bytes", [TWO_IN_ONE, ALL_IN_ONE])
def test_without_damage_a_swap_is_finished(
    segment_bytes: int, caplog: pytest.LogCaptureFixture
) -> None:
    for log in swapping(segment_bytes):
        found = again(log)
        assert latest(content(found)) == LATEST
        assert not [n for n in names_of(found) if n.endswith((".swap", ".deleted"))]
    assert "was not in place yet" in caplog.text
    assert "damaged" not in caplog.text


@cache
def announced() -> UnifiedLog:
    """The first new segment is there, and none of the old ones has gone."""
    for nth in range(1, 1000):
        log = interrupted(nth, TWO_IN_ONE, False)
        assert log is not None
        if has_swap(log):
            assert {f"{0:020d}.log", f"{2:020d}.log", SWAP} <= set(names_of(log))
            return log
    raise AssertionError("there is no swap")


@pytest.mark.parametrize("bit", [2, 3])
def test_a_last_offset_that_is_wrong_removes_no_later_segment(
    bit: int, caplog: pytest.LogCaptureFixture
) -> None:
    """7 or 11 for 3, in the last batch of what was made of 0 to 3."""
    log = announced()
    found = again(log, (SWAP, starts(log, SWAP)[-1] + 7, bit))
    assert latest(content(found)) == LATEST
    assert offsets(content(found)) == list(range(12)), "the old segments are back"
    assert f"{SWAP} is damaged, and what it was made of is there" in caplog.text


def test_old_segments_that_do_not_have_all_are_kept_where_they_contradict() -> None:
    """Some of the old ones are gone, and the last offset is wrong: 7 for 3."""
    log = announced()
    copied = deepcopy(log.local.files)
    assert isinstance(copied, FakeFiles)
    copied.flip(SWAP, starts(log, SWAP)[-1] + 7, 2)
    copied.unlink(DIRECTORY / f"{2:020d}.log")
    copied.unlink(DIRECTORY / f"{0:020d}.log")
    log.local.files, before = copied, log.local.files
    found = reopened(log, recovery_point=log.recovery_point)
    log.local.files = before
    others = {key: value for key, value in LATEST.items() if key != "c"}
    assert latest(content(found)) == others, "where c1 was nobody knows"
    assert offsets(content(found))[-8:] == list(range(4, 12))
    assert f"{6:020d}.log" in copied.listdir(DIRECTORY)
