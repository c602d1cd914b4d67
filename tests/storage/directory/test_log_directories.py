"""Several log directories: opened together, whose each partition is, which can go."""

import errno
import os
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directories import (
    KnownPartition,
    LogDirectories,
    Lookup,
)
from odradek.storage.directory.log_directory import (
    BadLogDirectory,
    DirectoryInUse,
    DirectoryLock,
    LogDirectory,
    parse_directory_name,
)
from odradek.storage.files.files import OsFiles
from odradek.storage.files.meta_properties import MetaProperties, format_meta_properties
from odradek.storage.files.partition_metadata import format_partition_metadata
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock
from tests.storage.directory.test_log_manager import (
    CONFIG,
    OTHER,
    ROOT,
    A,
    B,
    durable_root,
    loaded,
    made,
    started,
)
from tests.storage.logs import NOW, TOPIC_ID, produce, sync

OTHER_ID = bytes(15) + b"\x07"
C = TopicPartition("c", 0)


def put_partition(files: FakeFiles, root: Path, topic_id: bytes = TOPIC_ID) -> None:
    path = root / "a-0" / "partition.metadata"
    files.put(path, format_partition_metadata(topic_id))


def opened(files: FakeFiles, lookup: Lookup) -> LogDirectories:
    directories = LogDirectories([LogDirectory(files, each) for each in (ROOT, OTHER)])
    directories.open("c", 1, NoLock, lookup)
    return directories


# A partition in two of them


@pytest.mark.parametrize("right", [ROOT, OTHER])
@pytest.mark.parametrize("by", ["topic id", "log dir"])
def test_the_catalogue_says_which_of_two_is_served(
    right: Path, by: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a disk was away while its topic was made anew on another."""
    files = FakeFiles()
    wrong = ROOT if right is OTHER else OTHER
    put_partition(files, right)
    put_partition(files, wrong, OTHER_ID if by == "topic id" else TOPIC_ID)
    log_dir = right if by == "log dir" else None
    directories = opened(files, lambda _: KnownPartition(TOPIC_ID, log_dir))
    assert directories.homes[A].path == right
    assert directories.homes[A].partitions == {A: right / "a-0"}
    (kept,) = [each for each in files.listdir(wrong) if each.endswith("-stray")]
    assert kept in caplog.text
    assert files.exists(wrong / kept / "partition.metadata")


@pytest.mark.parametrize("known", [None, KnownPartition(TOPIC_ID, Path("/gone"))])
def test_a_partition_in_two_directories_is_refused_when_nobody_knows(
    known: KnownPartition | None,
) -> None:
    files = FakeFiles()
    put_partition(files, ROOT)
    put_partition(files, OTHER)
    with pytest.raises(BadLogDirectory, match="a-0 is in /data/a-0 and in /more/a-0"):
        opened(files, lambda _: known)
    assert files.exists(ROOT / "a-0")
    assert files.exists(OTHER / "a-0")


# Named twice, or copied


def test_one_directory_named_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    for other in (
        tmp_path / "a",
        tmp_path / "link",
        tmp_path / "b" / ".." / "a",
        Path(os.path.relpath(tmp_path / "a")),
    ):
        directories = LogDirectories(
            [LogDirectory(OsFiles(), each) for each in (tmp_path / "a", other)]
        )
        with pytest.raises(BadLogDirectory, match=f"one directory twice: .* {other}"):
            directories.open("c", 1, DirectoryLock, lambda _: None)
    assert list((tmp_path / "a").iterdir()) == []


def test_a_copied_directory_is_refused() -> None:
    files = FakeFiles()
    opened(files, lambda _: None)
    identity = files.content(ROOT / "meta.properties")
    files.put(OTHER / "meta.properties", identity)
    with pytest.raises(BadLogDirectory, match="copy"):
        opened(files, lambda _: None)


# Whose they are


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version=2\nnode.id=1\ncluster.id=c\n", "version 2 is not known"),
        (format_meta_properties(MetaProperties("x", 1)), "of cluster x"),
        (format_meta_properties(MetaProperties("c", 5)), "belongs to node 5"),
        (b"", "version is missing"),
    ],
)
def test_a_directory_of_somebody_else_among_ours_is_refused(
    content: bytes, message: str
) -> None:
    files = FakeFiles()
    files.put(OTHER / "meta.properties", content)
    with pytest.raises(BadLogDirectory, match=message) as refused:
        opened(files, lambda _: None)
    assert str(OTHER) in str(refused.value)


def test_a_directory_without_identity_among_ours_gets_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = FakeFiles()
    opened(files, lambda _: None)
    put_partition(files, OTHER)
    before = files.content(ROOT / "meta.properties")
    files.unlink(OTHER / "meta.properties")
    assert A in opened(files, lambda _: None).homes
    assert "/more has logs and no meta.properties" in caplog.text
    assert files.content(ROOT / "meta.properties") == before
    assert files.content(OTHER / "meta.properties") != before


def test_a_directory_without_an_id_gets_one_and_keeps_it() -> None:
    files = FakeFiles()
    for root, version in ((ROOT, 0), (OTHER, 1)):
        node = "node.id" if version else "broker.id"
        text = f"#Mon Jan 01\nversion={version}\n{node}=1\ncluster.id=c\n"
        files.put(root / "meta.properties", text.encode())
    first = [each.directory_id for each in opened(files, lambda _: None)]
    assert None not in first
    assert [each.directory_id for each in opened(files, lambda _: None)] == first


# One that cannot be used


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    paths[1].mkdir()
    lock = DirectoryLock(paths[1])
    directories = LogDirectories([LogDirectory(OsFiles(), each) for each in paths])
    with pytest.raises(DirectoryInUse, match=f"{paths[1]} is in use"):
        directories.open("c", 1, DirectoryLock, lambda _: None)
    lock.release()
    DirectoryLock(paths[0]).release()  # was let go


@pytest.mark.parametrize("fault", ["file", "below a file", "lock", "listing", "marker"])
def test_t086_a_directory_that_cannot_be_opened_is_left_out_with_its_logs(
    tmp_path: Path,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    files = OsFiles()
    if fault == "file":
        bad.write_bytes(b"")
    elif fault == "below a file":
        (tmp_path / "file").write_bytes(b"")
        bad = tmp_path / "file" / "bad"
    else:
        (bad / "a-0").mkdir(parents=True)
    if fault == "lock":  # as a file system that is mounted read-only answers
        (bad / ".lock").mkdir()
    elif fault == "listing":
        monkeypatch.setattr(files, "listdir", failing(files.listdir, bad))
    elif fault == "marker":
        monkeypatch.setattr(files, "unlink", failing(files.unlink, bad))
    directories = LogDirectories([LogDirectory(files, each) for each in (bad, good)])
    directories.open("c", 1, DirectoryLock, lambda _: None)
    assert A not in directories.homes
    assert directories.choose(None).path == good
    with pytest.raises(KafkaStorageError):
        directories.choose(bad)
    assert not directories.all_usable
    left_out = [each for each in caplog.messages if "is left out" in each]
    assert len(left_out) == 1
    assert str(bad) in left_out[0]
    directories.release()


def failing(function: object, bad: Path) -> object:
    def call(path: Path) -> object:
        if bad in (path, *path.parents):
            raise OSError(errno.EIO, "Input/output error", str(path))
        assert callable(function)
        return function(path)

    return call


def test_t086_when_all_have_failed_the_reasons_are_told() -> None:
    files = FakeFiles()
    files.fail("mkdir")
    files.fail("listdir", nth=1)
    with pytest.raises(KafkaStorageError) as failed:
        opened(files, lambda _: None)
    assert "/data: " in str(failed.value)
    assert "/more: " in str(failed.value)


@pytest.mark.parametrize("nth", range(1, 40))
def test_t086_any_call_that_fails_while_opening_costs_one_directory_at_most(
    nth: int,
) -> None:
    files = durable_root(FakeFiles())
    manager = started(files, ROOT, OTHER)
    for partition, root in ((A, ROOT), (B, OTHER)):
        log = manager.create(partition, TOPIC_ID, CONFIG, root, NOW)
        produce(log, 5)
        sync(log)
    manager.checkpoint_job()()
    files.fail(nth=nth)
    again = started(files, ROOT, OTHER)
    files.heal()
    there = again.directories_of()
    assert len(there) >= 1
    for partition in there:
        assert loaded(again, partition).log_end_offset == 5
    assert made(again, C).directory.parent in {path.parent for path in there.values()}


# Strangers


@pytest.mark.parametrize("kind", ["stray", "future"])
def test_kafkas_other_directories_are_kept_and_named(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    name = f"a-0.{'a' * 32}-{kind}"
    assert parse_directory_name(name)
    files.put(ROOT / name / "file", b"")
    files.put(ROOT / "lost+found" / "file", b"")
    manager = started(files)
    assert not manager.has_directory(A)
    assert manager.removal_job(1 << 60) is None
    assert files.exists(ROOT / name / "file")
    assert name in caplog.text
