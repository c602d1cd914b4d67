"""A segment is copied whole, whether it still grows, is sealed, or damaged."""

import pytest

from odradek.storage.segment.copy import Uncopyable, copy_file
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_future_log import (
    ALL,
    TARGET,
    check_same,
    contents,
    future_of,
)
from tests.storage.logs import DIRECTORY, NOW, new_log, produce, sync


def test_a_batch_larger_than_a_chunk_is_copied_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("odradek.storage.segment.copy.CHUNK_BYTES", 50)
    log = new_log(FakeFiles(), segment_bytes=100_000)
    for size in (10, 3000, 500):
        produce(log, 1, value=bytes(size))
    check_same(log, future_of(log))


def test_a_damaged_active_segment_is_sealed_and_copied_as_it_is() -> None:
    files = FakeFiles()
    log = new_log(files)
    for _ in range(4):
        produce(log, 2)
    sync(log)
    size = log.size // 4
    files.flip(log.local.active.log.path, size * 2 + 8, bit=5)  # the length of a batch
    future = future_of(log)
    with pytest.raises(Uncopyable):
        future.copy(future.plan(), ALL)
    future.forget(0)
    log.roll(NOW)
    produce(log, 1)
    assert future.copy(future.plan(), ALL)
    log.local.active.flush_indexes()
    future.sync()
    assert contents(files, TARGET) == contents(files, log.directory)


def test_a_file_that_has_gone_is_not_copied() -> None:
    files = FakeFiles()
    assert not copy_file(files, DIRECTORY / "x", DIRECTORY / "y")
    files.put(DIRECTORY / "x", b"x")
    files.put(DIRECTORY / "y", b"older")
    assert copy_file(files, DIRECTORY / "x", DIRECTORY / "y")
    assert files.read_bytes(DIRECTORY / "y") == b"x"
