from pathlib import Path

import pytest

from protocol.uuids import random_uuid
from storage.partition_metadata import (
    BadPartitionMetadata,
    read_partition_metadata,
    write_partition_metadata,
)
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/topic-0")


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
