from pathlib import Path

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.cleaner.cleaner_checkpoint import CleanerCheckpoint
from odradek.storage.files.checkpoints import CLEANER_OFFSETS_NAME
from odradek.storage.files.files import Buffer
from tests.fakes.files import FakeFiles

ROOT = Path("/data")
A, B = TopicPartition("a", 0), TopicPartition("b", 1)


def checkpoint(files: FakeFiles) -> CleanerCheckpoint:
    return CleanerCheckpoint(files, ROOT)


def disk() -> FakeFiles:
    files = FakeFiles()
    files.mkdir(ROOT)
    files.sync_directory(Path("/"))
    return files


def test_what_was_cleaned_is_known_after_a_power_cut() -> None:
    files = disk()
    assert checkpoint(files).get(A) is None
    checkpoint(files).put(A, 7, {A, B})
    files.power_cut()
    assert checkpoint(files).get(A) == 7
    assert files.read_bytes(ROOT / CLEANER_OFFSETS_NAME) == b"0\n1\na 0 7\n"


def test_entries_of_unknown_partitions_are_dropped() -> None:
    files = disk()
    first = checkpoint(files)
    first.put(A, 7, {A})
    first.put(B, 8, {B})
    assert (first.get(A), first.get(B)) == (None, 8)


def test_a_topic_that_is_made_again_was_not_cleaned() -> None:
    files = disk()
    first = checkpoint(files)
    first.put(A, 7, {A})
    first.forget(A)
    first.forget(B)
    assert (first.get(A), checkpoint(files).get(A)) == (None, None)


class Forgetting(FakeFiles):
    """While the checkpoint is written, a topic is deleted."""

    forgets: CleanerCheckpoint | None = None

    def write_atomic(self, path: Path, data: Buffer) -> None:
        if self.forgets is not None:
            self.forgets.forget(A)
        super().write_atomic(path, data)


def test_a_topic_that_is_deleted_while_others_are_noted_is_forgotten() -> None:
    files = Forgetting()
    files.mkdir(ROOT)
    first = checkpoint(files)
    first.put(A, 7, {A, B})
    job = first.put_job(B, 8, {A, B})
    assert first.get(B) == 8
    files.forgets = first
    job()
    again = checkpoint(files)
    assert (again.get(A), again.get(B)) == (None, 8)


def test_a_disk_that_fails_does_not_keep_a_topic_from_being_deleted() -> None:
    files = disk()
    first = checkpoint(files)
    first.put(A, 7, {A})
    files.fail()
    first.forget(A)
    assert first.get(A) is None


def test_nor_does_one_that_cannot_be_read_now() -> None:
    files = disk()
    checkpoint(files).put(A, 7, {A})
    first = checkpoint(files)
    files.fail("read_bytes")
    first.forget(A)
    assert first.get(A) == 7
    first.forget(A)
    assert checkpoint(files).get(A) is None


def test_one_that_cannot_be_read_is_none() -> None:
    files = disk()
    files.write_atomic(ROOT / CLEANER_OFFSETS_NAME, b"odd")
    assert checkpoint(files).get(A) is None
