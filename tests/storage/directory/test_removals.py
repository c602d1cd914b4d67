"""What is to be removed: when it is due, and what happens when it cannot be."""

from pathlib import Path

import pytest

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.removals import RETRY_AFTER_MS, Removals
from tests.fakes.files import FakeFiles
from tests.storage.batches import DIRECTORY, filled_segment

A0 = TopicPartition("a", 0)
PATHS = [Path(f"/data/a-0.{number}-delete") for number in range(3)]


def waiting(files: FakeFiles) -> Removals:
    removals = Removals(files)
    for number, path in enumerate(PATHS):
        files.put(path / "file", b"")
        removals.add_directory(path, A0, 100 * number)
    return removals


def left(files: FakeFiles) -> list[Path]:
    return [path for path in PATHS if files.exists(path)]


def test_each_goes_when_it_is_due() -> None:
    files = FakeFiles()
    removals = waiting(files)
    for number, now_ms in enumerate((0, 100, 200)):
        job = removals.job(now_ms)
        assert left(files) == PATHS[number:]
        assert job
        job()
        assert left(files) == PATHS[number + 1 :]
    assert removals.job(10**9) is None
    assert not removals.unremoved_partitions


def test_one_that_cannot_go_is_reported_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = FakeFiles()
    removals = waiting(files)
    for now_ms in (1000, 1001 + RETRY_AFTER_MS):
        files.fail("rmtree")
        run(removals, now_ms)
        assert left(files) == PATHS[:1]
        assert removals.unremoved_partitions == {A0}
        assert removals.job(now_ms + 1) is None
    run(removals, 1002 + 2 * RETRY_AFTER_MS)
    assert left(files) == []
    assert len(caplog.records) == 1
    assert str(PATHS[0]) in caplog.text


def run(removals: Removals, now_ms: int) -> None:
    job = removals.job(now_ms)
    assert job
    job()


class TestSegments:
    def rig(self) -> tuple[FakeFiles, Removals]:
        """A segment with its deleted name, which is not durable yet."""
        files = FakeFiles()
        segment = filled_segment(files)
        segment.seal()
        for file in segment.dirty_files():
            file.sync()
        files.sync_directory(DIRECTORY)
        files.sync_directory(DIRECTORY.parent)
        files.sync_directory(Path("/"))
        segment.rename_deleted()
        removals = Removals(files)
        removals.add_segment(segment, 0)
        return files, removals

    def test_the_names_are_durable_before_the_first_file_goes(self) -> None:
        files, removals = self.rig()
        files.fail("unlink")
        run(removals, 0)
        files.power_cut()
        names = files.listdir(DIRECTORY)
        assert names
        assert all(name.endswith(".deleted") for name in names)

    def test_where_they_cannot_be_synced_nothing_goes_before_a_restart(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        files, removals = self.rig()
        files.fail("sync_directory")
        before = files.listdir(DIRECTORY)
        run(removals, 0)
        assert files.listdir(DIRECTORY) == before
        assert removals.job(10**9) is None
        assert len(caplog.records) == 1

    def test_a_partition_that_was_deleted_meanwhile_is_no_matter(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        files, removals = self.rig()
        files.rmtree(DIRECTORY)
        run(removals, 0)
        assert not caplog.records
