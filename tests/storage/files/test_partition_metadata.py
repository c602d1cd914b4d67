import pytest

from odradek.protocol.uuids import random_uuid
from odradek.storage.files.file_system import StorageFailure
from odradek.storage.files.partition_metadata import (
    PARTITION_METADATA_NAME,
    BadPartitionMetadata,
    read_partition_metadata,
    write_partition_metadata,
)
from tests.fakes.files import FakeFiles
from tests.storage.logs import DIRECTORY, TOPIC_ID, new_log, produce

LOG = f"{0:020d}.log"


def test_id_comes_back_after_a_power_cut() -> None:
    files = FakeFiles()
    files.put(DIRECTORY / "x", b"")
    topic_id = random_uuid()
    write_partition_metadata(files, DIRECTORY, topic_id)
    files.power_cut()
    assert read_partition_metadata(files, DIRECTORY) == topic_id


def test_missing_file_has_no_id() -> None:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    assert read_partition_metadata(files, DIRECTORY) is None


def test_malformed_file_is_named() -> None:
    files = FakeFiles()
    files.put(DIRECTORY / "partition.metadata", b"version: 0\n")
    with pytest.raises(
        BadPartitionMetadata, match=r"/data/topic-0/partition\.metadata: malformed"
    ):
        read_partition_metadata(files, DIRECTORY)


def test_a_new_log_says_of_which_topic_it_is_before_its_first_record() -> None:
    files = FakeFiles()
    new_log(files)
    names = files.listdir(DIRECTORY)
    assert PARTITION_METADATA_NAME in names
    assert not [name for name in names if name.endswith(".tmp")]
    assert read_partition_metadata(files, DIRECTORY) == TOPIC_ID


def test_whatever_is_durable_of_a_new_log_is_durable_with_its_topic_id() -> None:
    """A power cut behind each step of the first sync."""
    for step in range(1, 20):
        files = FakeFiles()
        log = new_log(files)
        produce(log)
        ticket = log.syncing.begin()
        assert ticket is not None
        files.fail(nth=step)
        try:
            ticket.run()
        except StorageFailure:
            files.power_cut()
            if files.exists(DIRECTORY):
                found = files.listdir(DIRECTORY)
                has_record = LOG in found and files.content(DIRECTORY / LOG)
                assert not has_record or PARTITION_METADATA_NAME in found
        else:
            files.heal()
            files.power_cut()
            assert read_partition_metadata(files, DIRECTORY) == TOPIC_ID
            return
    pytest.fail("the first sync takes fewer steps than that")
