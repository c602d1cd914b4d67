import errno
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.backup.manifest import BadBackup, Manifest
from odradek.storage.backup.plan import plan_stopped
from odradek.storage.backup.restoring import Fault, Restore, faults_of
from odradek.storage.directory.data_format import BadLogDirectory
from odradek.storage.files.meta_properties import read_meta_properties
from odradek.storage.formats.checkpoint import parse_offsets
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS
from tests.storage.backup.backups import (
    DATA,
    OTHER,
    TARGET,
    TOPIC_ID,
    A,
    B,
    log_of,
    manager_of,
    stopped,
    stopped_plan,
    tree,
    write,
)

NEW, SECOND = Path("/new/data"), Path("/new/second")
LOG = TARGET / "0/a-0/00000000000000000002.log"


@pytest.fixture
def files() -> FakeFiles:
    files = FakeFiles()
    stopped(files)
    return files


@pytest.fixture
def manifest(files: FakeFiles) -> Manifest:
    return write(files, stopped_plan(files))


def restored(files: FakeFiles, manifest: Manifest, *targets: Path) -> Restore:
    restore = Restore(files, TARGET, manifest, targets or (NEW,))
    restore.check()
    restore.run()
    return restore


def test_a_restored_directory_is_what_was_backed_up(
    files: FakeFiles, manifest: Manifest
) -> None:
    files.put(Path("/new/x"), b"")
    restored(files, manifest).finish()
    files.power_cut()
    was = read_meta_properties(files, DATA)
    assert read_meta_properties(files, NEW) == was
    manager = manager_of(files, NEW)
    log = manager.load(A, TOPIC_ID, LogConfig(), NOW_MS)
    assert (log.log_start_offset, log.log_end_offset) == (0, 6)
    assert not manager.was_clean  # so that a new leader epoch begins


def test_until_it_is_finished_nobody_may_serve_it(
    files: FakeFiles, manifest: Manifest
) -> None:
    restored(files, manifest)
    files.power_cut()
    if files.exists(NEW / "meta.properties"):
        with pytest.raises(BadLogDirectory, match="unfinished: a restore was"):
            manager_of(files, NEW)


def test_an_abandoned_restore_leaves_nothing(
    files: FakeFiles, manifest: Manifest
) -> None:
    restored(files, manifest).abandon()
    assert not files.exists(NEW)


def test_a_directory_that_was_there_is_left_empty(
    files: FakeFiles, manifest: Manifest
) -> None:
    files.mkdir(NEW / "lost+found")  # a file system of its own
    restored(files, manifest).abandon()
    assert files.listdir(NEW) == ["lost+found"]


def test_a_directory_with_data_is_refused(files: FakeFiles, manifest: Manifest) -> None:
    files.put(NEW / "x", b"mine")
    with pytest.raises(BadBackup, match="/new/data is not empty: it has x"):
        Restore(files, TARGET, manifest, [NEW]).check()
    assert tree(files, NEW) == {"x": b"mine"}


def spoil(files: FakeFiles, how: str) -> None:
    if how == "missing":
        files.unlink(LOG)
    elif how == "shorter":
        files.cut(LOG, by=1)
    else:
        files.flip(LOG, 20)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "is missing"),
        ("shorter", "bytes, and had"),
        ("flipped", "is damaged: its checksum does not match"),
    ],
)
def test_what_is_not_as_it_was_is_named_and_not_restored(
    files: FakeFiles, manifest: Manifest, how: str, message: str
) -> None:
    spoil(files, how)
    (fault,) = faults_of(files, TARGET, manifest)
    assert isinstance(fault, Fault)
    assert fault.path == "0/a-0/00000000000000000002.log"
    assert message in fault.message
    with pytest.raises(BadBackup, match=message) as refused:
        restored(files, manifest)
    assert str(LOG) in str(refused.value)


@pytest.mark.parametrize(
    "name", ["meta.properties", "recovery-point-offset-checkpoint"]
)
def test_what_is_written_anew_is_compared_too(
    files: FakeFiles, manifest: Manifest, name: str
) -> None:
    files.flip(TARGET / "0" / name, 0)
    with pytest.raises((BadBackup, ValueError)):
        restored(files, manifest)


def test_a_newer_format_is_refused(files: FakeFiles, manifest: Manifest) -> None:
    newer = replace(manifest, data_format=manifest.data_format + 1, odradek="9.9")
    with pytest.raises(BadBackup, match=r"format 2, written by odradek 9\.9; this one"):
        Restore(files, TARGET, newer, [NEW]).check()


def test_a_full_disk_is_said(files: FakeFiles, manifest: Manifest) -> None:
    files.fail("append", nth=8, error=errno.ENOSPC)
    with pytest.raises(KafkaStorageError):
        restored(files, manifest)


# Several log directories


@pytest.fixture
def two() -> tuple[FakeFiles, Manifest]:
    files = FakeFiles()
    manager = manager_of(files, DATA, OTHER)
    log_of(manager, A)
    log_of(manager, B, OTHER)
    manager.close()
    files.put(DATA / "catalog.db", b"x")
    return files, write(files, plan_stopped(files, [DATA, OTHER], DATA, ("c", 1)))


def test_two_directories_become_two(two: tuple[FakeFiles, Manifest]) -> None:
    files, manifest = two
    restored(files, manifest, NEW, SECOND).finish()
    manager = manager_of(files, NEW, SECOND)
    assert manager.directories_of() == {A: NEW / "a-0", B: SECOND / "b-x-3"}


def test_two_directories_become_one(two: tuple[FakeFiles, Manifest]) -> None:
    files, manifest = two
    restored(files, manifest, NEW).finish()
    assert manager_of(files, NEW).directories_of().keys() == {A, B}
    points = files.content(NEW / "recovery-point-offset-checkpoint").decode()
    assert parse_offsets(points) == {A: 6, B: 6}


def test_another_number_of_directories_is_refused(
    two: tuple[FakeFiles, Manifest],
) -> None:
    files, manifest = two
    targets = [NEW, SECOND, Path("/new/third")]
    with pytest.raises(BadBackup, match="has 2 log directories"):
        Restore(files, TARGET, manifest, targets).check()
    with pytest.raises(BadBackup, match="named twice"):
        Restore(files, TARGET, manifest, [NEW, NEW]).check()
