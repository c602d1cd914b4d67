from pathlib import Path

import pytest

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.checkpoints import (
    EPOCHS_NAME,
    HIGH_WATERMARKS_NAME,
    LOG_STARTS_NAME,
    RECOVERY_POINTS_NAME,
    read_epochs,
    read_offsets,
    write_offsets,
)
from odradek.storage.files.file_system import StorageFailure
from odradek.storage.files.files import OsFiles
from odradek.storage.formats.checkpoint import CheckpointError, EpochEntry
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1"
PATH = Path("/data/recovery-point-offset-checkpoint")


def test_offsets_come_back_after_a_power_cut() -> None:
    files = FakeFiles()
    files.put(PATH, b"")
    write_offsets(files, PATH, {TopicPartition("a", 1): 7})
    files.power_cut()
    assert read_offsets(files, PATH) == {TopicPartition("a", 1): 7}


def test_epochs_come_back() -> None:
    files = FakeFiles()
    files.mkdir(PATH.parent)
    files.put(PATH.parent / EPOCHS_NAME, b"0\n1\n3 9\n")
    assert read_epochs(files, PATH.parent) == [EpochEntry(3, 9)]


def test_missing_file_has_no_entries() -> None:
    files = FakeFiles()
    files.mkdir(PATH.parent)
    assert read_offsets(files, PATH) == {}
    assert read_epochs(files, PATH.parent) == []


@pytest.mark.parametrize("data", [b"0\n1\ngarbage\n", b"0\n\xff\n"])
def test_malformed_file_is_named(data: bytes) -> None:
    files = FakeFiles()
    files.put(PATH, data)
    with pytest.raises(CheckpointError, match=str(PATH)):
        read_offsets(files, PATH)


def test_failed_write_keeps_the_old_checkpoint() -> None:
    files = FakeFiles()
    files.put(PATH, b"0\n1\na 1 7\n")
    files.fail("sync")
    with pytest.raises(StorageFailure):
        write_offsets(files, PATH, {})
    assert read_offsets(files, PATH) == {TopicPartition("a", 1): 7}


def test_kafkas_checkpoints_are_read() -> None:
    directory = GOLDEN / "plain-size-roll/log-dir"
    plain = TopicPartition("plain", 0)
    files = OsFiles()
    assert read_offsets(files, directory / RECOVERY_POINTS_NAME) == {plain: 200}
    assert read_offsets(files, directory / HIGH_WATERMARKS_NAME) == {plain: 200}
    assert read_offsets(files, directory / LOG_STARTS_NAME) == {}
    epochs = read_epochs(files, GOLDEN / "leader-epochs/log-dir/le-0")
    assert [tuple(entry) for entry in epochs] == [
        (0, 0),
        (2, 5),
        (4, 10),
        (6, 15),
        (10, 20),
    ]
