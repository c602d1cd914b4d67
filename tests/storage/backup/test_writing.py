import errno
from collections import Counter
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.backup.manifest import BackedUpPartition, BadBackup, read_manifest
from odradek.storage.backup.plan import PlannedFile
from odradek.storage.backup.restoring import faults_of
from odradek.storage.backup.writing import BackupWriter, checksum_of, copy_file
from odradek.storage.files.files import DiskFull
from tests.fakes.files import FakeFiles
from tests.storage.backup.backups import (
    DATA,
    MADE,
    TARGET,
    stopped,
    stopped_plan,
    tree,
    write,
)

PARTIAL = TARGET.with_name("one.partial")


@pytest.fixture
def files() -> FakeFiles:
    files = FakeFiles()
    stopped(files)
    return files


def test_a_backup_is_whole_and_survives_a_power_cut(files: FakeFiles) -> None:
    before = tree(files, DATA)
    files.mkdir(TARGET.parent)
    files.sync_directory(TARGET.parent.parent)
    manifest = write(files, stopped_plan(files))
    files.power_cut()
    assert read_manifest(files, TARGET) == manifest
    assert list(faults_of(files, TARGET, manifest)) == []
    assert manifest.partitions == [BackedUpPartition("a", 0, 0, 0, 6)]
    assert manifest.damage == []
    for name, data in tree(files, TARGET / "0").items():
        assert data == before[name]
    assert not files.exists(PARTIAL)


def test_closed_segments_are_links_and_no_other_file_is(files: FakeFiles) -> None:
    write(files, stopped_plan(files))
    linked = {
        path.name
        for path in files.paths()
        if TARGET in path.parents and files.file_at(path) is _origin(files, path)
    }
    kinds = "log", "index", "timeindex"
    assert linked == {f"{base:020d}.{kind}" for base in (0, 2) for kind in kinds}


def _origin(files: FakeFiles, path: Path) -> object:
    origin = DATA / path.relative_to(TARGET / "0") if path.parts[-2] != "one" else path
    return files.file_at(origin) if files.exists(origin) and origin != path else None


def test_where_there_are_no_links_everything_is_copied(
    files: FakeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_links = write(files, stopped_plan(files))
    content = tree(files, TARGET / "0")
    files.rmtree(TARGET)
    monkeypatch.setattr(files, "link", lambda *_: False)
    without = write(files, stopped_plan(files))
    assert tree(files, TARGET / "0") == content
    assert Counter(without.files) == Counter(with_links.files)


def test_until_the_end_nothing_has_the_name(files: FakeFiles) -> None:
    files.mkdir(TARGET.parent)
    writer = BackupWriter(files, stopped_plan(files), TARGET)
    writer.begin()
    writer.copy()
    assert not files.exists(TARGET)
    writer.abandon()
    assert not files.exists(PARTIAL)


def test_what_a_killed_backup_left_is_removed_by_the_next(files: FakeFiles) -> None:
    files.put(PARTIAL / "0" / "old", b"x")
    write(files, stopped_plan(files))
    assert not files.exists(TARGET / "0" / "old")


@pytest.mark.parametrize("operation", ["append", "sync", "mkdir", "rename", "link"])
def test_a_failure_leaves_nothing_with_the_name(
    files: FakeFiles, operation: str
) -> None:
    files.fail(operation, error=errno.ENOSPC if operation == "append" else errno.EIO)
    with pytest.raises(KafkaStorageError):
        write(files, stopped_plan(files))
    assert not files.exists(TARGET)


def test_a_full_disk_is_called_so(files: FakeFiles) -> None:
    files.fail("append", nth=3, error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        write(files, stopped_plan(files))


@pytest.mark.parametrize("base_offset", [0, 4])
def test_damage_is_copied_and_said(files: FakeFiles, base_offset: int) -> None:
    path = DATA / f"a-0/{base_offset:020d}.log"
    files.flip(path, files.size(path) - 3)
    before = files.content(path)
    manifest = write(files, stopped_plan(files))
    assert any(path.name in each.path for each in manifest.damage)
    assert files.content(TARGET / "0" / "a-0" / path.name) == before
    assert read_manifest(files, TARGET).damage == manifest.damage


def test_a_file_that_is_taken_in_again_replaces_what_was_said(files: FakeFiles) -> None:
    files.mkdir(TARGET.parent)
    writer = BackupWriter(files, stopped_plan(files), TARGET)
    writer.begin()
    writer.copy()
    files.put(PARTIAL / "0/catalog.db", b"another")
    writer.add("0/catalog.db")
    manifest = writer.finish(writer.examine(None), MADE)
    (found,) = [each for each in manifest.files if each.path == "0/catalog.db"]
    assert found.size == len(b"another")
    assert list(faults_of(files, TARGET, manifest)) == []


def test_a_file_that_is_shorter_than_the_cut_is_refused(files: FakeFiles) -> None:
    plan = stopped_plan(files)
    source = DATA / "catalog.db"
    plan.files = [PlannedFile(source, "0/catalog.db", files.size(source) + 1)]
    with pytest.raises(BadBackup, match=r"catalog.db ends at 9, and had 10 bytes"):
        write(files, plan)


def test_a_copy_is_told_of_and_has_a_checksum(files: FakeFiles) -> None:
    data = bytes(range(256)) * 10_000
    files.put(DATA / "big", data)
    told: list[int] = []
    found = copy_file(files, DATA / "big", DATA / "copy", 2_000_001, told.append)
    assert files.content(DATA / "copy") == data[:2_000_001]
    assert found == (2_000_001, checksum_of(files, DATA / "copy"))
    assert sum(told) == 2_000_001
    assert max(told) <= 1 << 20
