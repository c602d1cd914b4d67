"""Every byte of a log's files wrong, zero or missing: it loads, the rest is read.

A small log of several segments, with transactions, snapshots and two leader epochs, is
damaged at one place at a time, in its side files and in some of its batches. A sample
of the places is tried in every run, all of them with ODRADEK_LONG=1.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    Producer,
    closed,
    files_of,
    marker,
    new_log,
    produce,
    reopened,
    sync,
)

STEP = 1 if os.environ.get("ODRADEK_LONG") else 13
LAST = 33
DAMAGED = {6: 3, 9: 2, 11: 1, LAST: 3}  # base offsets and records of batches


class Start(NamedTuple):
    """How the log is opened after the damage."""

    was_clean: bool
    recovery_point: int


@cache
def whole() -> UnifiedLog:
    log = new_log(segment_bytes=500, index_interval_bytes=150)
    for number in range(3):
        produce(log, 3, producer=Producer(1, 0, 3 * number), leader_epoch=4)
        produce(log, 2, producer=Producer(7, 0, 2 * number), is_transactional=True)
        kind = ControlType.COMMIT if number == 1 else ControlType.ABORT
        marker(log, kind)
        sync(log, with_snapshot=number == 1)
    for number in range(5):
        produce(log, 3, producer=Producer(1, 0, 9 + 3 * number), leader_epoch=6)
    sync(log)
    produce(log, 3, leader_epoch=6)
    closed(log)
    assert log.log_end_offset == 36
    assert len(log.local.segments) >= 4
    return log


def starts() -> list[Start]:
    return [Start(True, 36), Start(False, 0), Start(False, 20), Start(False, 33)]


def damaged_contents(content: bytes, positions: range) -> Iterator[bytes]:
    for position in positions:
        flipped = content[position] ^ (1 << position % 8)
        yield content[:position] + bytes([flipped]) + content[position + 1 :]
        if content[position]:
            yield content[:position] + b"\0" + content[position + 1 :]
        yield content[:position]


def loaded(path: Path, content: bytes | None, start: Start) -> UnifiedLog:
    """The log with other content of one file, or without it."""
    original = files_of(whole())
    files = FakeFiles()
    for each in original.paths():
        if each != path:
            files.put(each, original.content(each))
        elif content is not None:
            files.put(each, content)
    whole().local.files = files
    try:
        return reopened(whole(), **start._asdict())
    finally:
        whole().local.files = original


def read(
    log: UnifiedLog, isolation: FetchIsolation = FetchIsolation.LOG_END
) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    offset = log.log_start_offset
    while True:
        data = log.read(offset, 1 << 20, isolation, may_block=True).records
        if not len(data):
            return found
        for position, header in scan(data):
            batch = memoryview(data)[position : position + header.size]
            found += [
                (each.offset, each.value)
                for each in iterate(batch)
                if each.offset >= offset
            ]
            offset = header.next_offset


def side_files() -> list[Path]:
    return [path for path in files_of(whole()).paths() if path.suffix != ".log"]


@pytest.mark.parametrize("start", starts())
@pytest.mark.parametrize("path", side_files(), ids=lambda path: path.name)
def test_r4_side_file_damaged_at_any_byte_loses_nothing(
    path: Path, start: Start
) -> None:
    content = files_of(whole()).content(path)
    expected = read(whole())
    for damaged in (None, *damaged_contents(content, range(0, len(content), STEP))):
        log = loaded(path, damaged, start)
        assert read(log) == expected
        assert not len(log.damage)
        for offset in range(0, 36, 5):
            assert len(log.read(offset, 100, may_block=True).records)
        check_it_goes_on(log)


@pytest.mark.parametrize("start", starts())
@pytest.mark.parametrize("base_offset", DAMAGED)
def test_r5_batch_damaged_at_any_byte_is_all_that_is_lost(
    base_offset: int, start: Start
) -> None:
    segment = whole().local.segments.floor(base_offset)
    assert segment is not None
    found = segment.reader.find(base_offset)
    assert found is not None
    position, size = found
    content = files_of(whole()).content(segment.log.path)
    expected = read(whole())
    lost = range(base_offset, base_offset + DAMAGED[base_offset])
    remaining = [each for each in expected if each[0] not in lost]
    for at in range(0, size, STEP):
        place = position + at
        for value in {content[place] ^ (1 << at % 8), 0, 255}:
            damaged = content[:place] + bytes([value]) + content[place + 1 :]
            log = loaded(segment.log.path, damaged, start)
            records = read(log)
            if not (12 <= at < 16 or (base_offset == LAST and at < 8)):
                assert records in (remaining, expected), (at, value)
                if at < 8:  # its neighbours leave it no other offset
                    assert records == expected, (at, value)
                elif value != content[place]:
                    assert records == remaining, (at, value)
            else:
                # The epoch and, at the end of the log, the offset are not contradicted.
                assert [each for each in records if each[0] < LAST] == [
                    each for each in expected if each[0] < LAST
                ]
            if start.recovery_point > LAST:
                assert log.log_end_offset >= 36
            check_it_goes_on(log)


@pytest.mark.parametrize("start", starts())
def test_r4_log_cut_at_any_byte_of_the_last_batch(start: Start) -> None:
    active = whole().local.active
    found = active.reader.find(LAST)
    assert found is not None
    content = files_of(whole()).content(active.log.path)
    expected = [each for each in read(whole()) if each[0] < LAST]
    for size in range(found[0], len(content), STEP):
        left = len(content) - size
        for tail in {b"", bytes(left), b"\xff" * left} - {content[size:]}:
            log = loaded(active.log.path, content[:size] + tail, start)
            assert read(log) == expected
            assert log.log_end_offset == max(LAST, start.recovery_point)
            check_it_goes_on(log)


@pytest.mark.parametrize("start", starts())
def test_r5_any_log_file_missing(start: Start) -> None:
    for segment in whole().local.segments:
        following = whole().local.segments.higher(segment.base_offset)
        end = 36 if following is None else following.base_offset
        lost = range(segment.base_offset, end)
        log = loaded(segment.log.path, None, start)
        assert read(log) == [each for each in read(whole()) if each[0] not in lost]
        if lost.start and start.recovery_point >= end:
            assert [each[3:5] for each in log.quarantine] == [(lost.start, end - 1)]
        check_it_goes_on(log)


def check_it_goes_on(log: UnifiedLog) -> None:
    """What is appended is read, and read again by the next process."""
    before = read(log)
    info = produce(log, 1, value=b"new", leader_epoch=log.latest_epoch + 1)
    assert read(log)[-1] == (info.base_offset, b"new")
    sync(log)
    read(log, FetchIsolation.TXN_COMMITTED)
    again = reopened(log, recovery_point=log.recovery_point)
    assert read(again) == [*before, (info.base_offset, b"new")]
