"""A log directory: whose it is, how it was left, and what the names in it mean."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directory import (
    CLEAN_MARKER_NAME,
    BadLogDirectory,
    DirectoryInUse,
    DirectoryKind,
    DirectoryLock,
    LogDirectory,
    parse_directory_name,
    suffixed_name,
)
from tests.fakes.files import FakeFiles

ROOT = Path("/data")
DELETE = DirectoryKind.DELETE
TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=249).filter(
    lambda topic: topic not in (".", "..")
)


class NoLock:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def release(self) -> None: ...


def opened(files: FakeFiles) -> LogDirectory:
    directory = LogDirectory(files, ROOT)
    directory.open("cluster", 1, NoLock)
    return directory


def test_a_new_directory_survives_a_power_cut_with_those_above_it() -> None:
    files = FakeFiles()
    path = Path("/mnt/new/data")
    files.put(Path("/mnt/there"), b"")
    LogDirectory(files, path).open("cluster", 1, NoLock)
    files.power_cut()
    assert files.exists(path / "meta.properties")


def test_a_lock_that_was_let_go_touches_no_other_file(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    lock.release()
    with (tmp_path / "other").open("wb+") as other:  # gets the number
        other.write(b"bytes")
        other.flush()
        lock.release()
        os.fsync(other.fileno())
    assert (tmp_path / "other").read_bytes() == b"bytes"


def test_a_lock_is_let_go_where_its_file_cannot_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = DirectoryLock(tmp_path)

    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(OSError, match="Input/output"):
            lock.release()
    lock.release()
    DirectoryLock(tmp_path).release()


def test_a_lock_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", no_room)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DirectoryInUse, match="in use by a process"):
        DirectoryLock(tmp_path)
    lock.release()


# Names


@given(TOPICS, st.integers(0, 2**31 - 1))
def test_t083_topic_name_with_dots_and_dashes_parsing(topic: str, number: int) -> None:
    partition = TopicPartition(topic, number)
    parsed = parse_directory_name(str(partition))
    assert parsed == (partition, DirectoryKind.LOG)


@given(TOPICS, st.integers(0, 2**31 - 1))
def test_the_name_of_a_deleted_one_is_never_too_long(topic: str, number: int) -> None:
    name = suffixed_name(TopicPartition(topic, number), DELETE)
    assert len(name) <= 255
    parsed = parse_directory_name(name)
    assert parsed is not None
    assert parsed.kind is DirectoryKind.DELETE
    assert parsed.topic_partition.partition == number
    assert topic.startswith(parsed.topic_partition.topic)


@pytest.mark.parametrize(
    "name",
    ["topic", "topic-", "-0", "topic-x", "topic--delete", "a b-0", "..-0", "catalog.db"]
    + ["bootstrap.checkpoint", "remote-log-index-cache", "topic-0x", "topic-0.delete"],
)
def test_other_names_are_not_ours(name: str) -> None:
    assert parse_directory_name(name) is None


@pytest.mark.parametrize("kind", ["stray", "future", "delete"])
def test_kafkas_suffixes_are_known(kind: str) -> None:
    parsed = parse_directory_name(f"a.b-c-7.{'0' * 31}f-{kind}")
    assert parsed == (TopicPartition("a.b-c", 7), DirectoryKind(kind))


# Lock


def test_the_lock_names_its_process(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DirectoryInUse, match=f"is in use by process {os.getpid()}"):
        DirectoryLock(tmp_path)
    lock.release()
    DirectoryLock(tmp_path).release()


def test_another_process_is_named(tmp_path: Path) -> None:
    hold = (
        "import sys; from pathlib import Path;"
        "from odradek.storage.directory.log_directory import *;"
        "lock = DirectoryLock(Path(sys.argv[1])); print('held', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(DirectoryInUse, match=f"is in use by process {other.pid}"):
            DirectoryLock(tmp_path)
        other.kill()
    DirectoryLock(tmp_path).release()


# Opening


def test_a_new_directory_gets_an_identity_and_keeps_it() -> None:
    files = FakeFiles()
    assert opened(files).was_clean
    identity = files.content("meta.properties")
    opened(files)
    assert files.content("meta.properties") == identity


def test_a_directory_of_somebody_else_is_refused() -> None:
    files = FakeFiles()
    opened(files)
    for cluster_id, node_id in (("other", 1), ("cluster", 2)):
        with pytest.raises(BadLogDirectory, match="belongs to node 1 of cluster"):
            LogDirectory(files, ROOT).open(cluster_id, node_id, NoLock)
    files.put(ROOT / "meta.properties", b"nonsense")
    with pytest.raises(BadLogDirectory):
        opened(files)


def test_t067_the_clean_marker_is_gone_for_good_before_anything_else() -> None:
    files = FakeFiles()
    files.put(ROOT / "a-0" / "partition.metadata", b"")
    files.put(ROOT / CLEAN_MARKER_NAME, b"{}")
    assert opened(files).was_clean
    files.power_cut()
    assert not opened(files).was_clean


def test_the_epoch_of_a_registration_is_known_after_any_stop() -> None:
    files = FakeFiles()
    first = opened(files)
    assert first.previous_broker_epoch == -1
    first.broker_epoch = 5
    first.mark_clean()
    second = opened(files)
    assert second.previous_broker_epoch == 5
    second.broker_epoch = 9
    second.keep_epoch()
    files.power_cut()
    assert opened(files).previous_broker_epoch == 9
    files.power_cut()
    third = opened(files)  # that was killed before it was registered
    assert third.previous_broker_epoch == 9


def test_a_stop_that_was_not_clean_is_told(caplog: pytest.LogCaptureFixture) -> None:
    files = FakeFiles()
    opened(files).mark_clean()
    assert not caplog.messages
    files.mkdir(ROOT / "t-0")
    opened(files).mark_clean()
    assert not caplog.messages
    opened(files)
    assert not caplog.messages
    opened(files)
    assert caplog.messages == [
        "the last stop of /data was not a clean one (a restored backup had none):"
        " whatever its logs (1) hold beyond what was durable is read and written again"
    ]


def test_partitions_deleted_ones_and_strangers_are_told_apart() -> None:
    files = FakeFiles()
    deleted = suffixed_name(TopicPartition("a", 0), DELETE)
    for name in ("a-1", "b.c-d-0", deleted, "__cluster_metadata-0", "lost+found"):
        files.put(ROOT / name / "file", b"")
    files.put(ROOT / f"a-2.{'1' * 32}-stray" / "file", b"")
    directory = opened(files)
    assert directory.partitions == {
        TopicPartition("a", 1): ROOT / "a-1",
        TopicPartition("b.c-d", 0): ROOT / "b.c-d-0",
    }
    assert directory.deleted == {ROOT / deleted: TopicPartition("a", 0)}
    assert directory.stray_count == 1


def test_checkpoints_are_read_for_the_partitions_that_are_there() -> None:
    files = FakeFiles()
    files.put(ROOT / "a-0" / "file", b"")
    files.put(ROOT / "recovery-point-offset-checkpoint", b"0\n2\na 0 7\nb 0 9\n")
    files.put(ROOT / "log-start-offset-checkpoint", b"0\n1\na 0 3\n")
    directory = opened(files)
    assert directory.checkpointed(TopicPartition("a", 0)) == (False, 7, 3)
    assert directory.checkpointed(TopicPartition("b", 0)) == (False, 0, 0)
    directory.checkpoints.write(directory.checkpoints.take([]))
    text = files.content("recovery-point-offset-checkpoint")
    assert text == b"0\n1\na 0 7\n"


def test_t081_bad_recovery_checkpoint_file_means_zero() -> None:
    files = FakeFiles()
    files.put(ROOT / "a-0" / "file", b"")
    files.put(ROOT / "recovery-point-offset-checkpoint", b"0\n5\na 0 7\n")
    assert opened(files).checkpointed(TopicPartition("a", 0)).recovery_point == 0


def test_a_deleted_partition_leaves_the_checkpoints() -> None:
    files = FakeFiles()
    files.put(ROOT / "a-0" / "file", b"")
    files.put(ROOT / "recovery-point-offset-checkpoint", b"0\n1\na 0 7\n")
    directory = opened(files)
    path = directory.rename(TopicPartition("a", 0), DELETE)
    assert files.exists(path / "file")
    directory.checkpoints.write(directory.checkpoints.take([]))
    assert files.content("recovery-point-offset-checkpoint") == b"0\n0\n"
