"""A log whose every call to the system fails once, and then the power."""

import errno
from contextlib import suppress

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.record_batch import scan
from odradek.storage.local.local_log import LocalLog
from odradek.storage.local.segments import LogSegments
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.values.file_names import LOG, base_offset_of
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.batches import DIRECTORY, append, batch

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=100)
BATCHES = 20


def sync(log: LocalLog) -> None:
    for segment in log.segments:
        segment.flush_indexes()
        for file in segment.dirty_files():
            file.sync()
    log.files.sync_directory(DIRECTORY)
    log.files.sync_directory(DIRECTORY.parent)


def run(files: FakeFiles, synced: list[int]) -> None:
    """Append, roll, sync now and then, close. ``synced`` gets the durable ends."""
    log = LocalLog.create(files, DIRECTORY, CONFIG, 0)
    for number in range(BATCHES):
        data = batch(number * 3, 3)
        if log.active.should_roll(len(data), 1002, number * 3 + 2, 0):
            log.roll(number * 3, now_ms=0)
        append(log, data)
        if number % 4 == 3:
            sync(log)
            synced.append(log.end.offset)
    log.close()
    sync(log)
    synced.append(log.end.offset)


def recovered_offsets(files: FakeFiles) -> list[int]:
    """The base offsets of all batches, as a new process finds and reads them."""
    if not files.exists(DIRECTORY):
        return []
    bases = [base_offset_of(n) for n in files.listdir(DIRECTORY) if n.endswith(LOG)]
    if not bases:
        return []
    segments = LogSegments(
        LogSegment(files, DIRECTORY, base, CONFIG, 0) for base in bases
    )
    for segment in segments:
        recovery = segment.recover()
        assert not recovery.damaged
        segment.cut(recovery.valid_end)
        if segment is not segments.last:
            segment.seal()
    log = LocalLog(files, DIRECTORY, CONFIG, segments, recovery.next_offset)
    found: list[int] = []
    offset = 0
    while (data := log.read(offset, 1 << 20, True, log.end).records) != b"":
        for _, header in scan(data):
            found.append(header.base_offset)
            offset = header.next_offset
    return found


def calls_of_a_run() -> int:
    files = FakeFiles()
    files.put(DIRECTORY.parent / "x", b"")
    synced: list[int] = []
    run(files, synced)
    calls = files.counts.total()
    assert synced[-1] == BATCHES * 3
    assert recovered_offsets(files) == list(range(0, BATCHES * 3, 3))
    return calls


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("loses_power", [True, False])
def test_what_was_synced_survives_any_failed_call(code: int, loses_power: bool) -> None:
    calls = calls_of_a_run()
    assert calls > 60
    for nth in range(1, calls + 1):
        files = FakeFiles()
        files.put(DIRECTORY.parent / "x", b"")
        files.fail(nth=nth, error=code)
        synced = [0]
        with suppress(KafkaStorageError):
            run(files, synced)
        files.heal()
        if loses_power:
            files.power_cut()
        found = recovered_offsets(files)
        assert found == list(range(0, len(found) * 3, 3))
        assert len(found) * 3 >= synced[-1], f"call {nth}"


def test_a_full_disk_passes() -> None:
    for nth in range(1, calls_of_a_run()):
        files = FakeFiles()
        files.put(DIRECTORY.parent / "x", b"")
        log = LocalLog.create(files, DIRECTORY, CONFIG, 0)
        files.fail(nth=nth, error=errno.ENOSPC)
        number = 0
        while number < BATCHES:
            data = batch(number * 3, 3)
            try:
                if log.active.should_roll(len(data), 1002, number * 3 + 2, 0):
                    log.roll(number * 3, now_ms=0)
                append(log, data)
            except KafkaStorageError:
                continue
            number += 1
        files.heal()
        assert recovered_offsets(files) == list(range(0, BATCHES * 3, 3))
