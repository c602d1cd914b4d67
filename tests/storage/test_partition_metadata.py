from pathlib import Path

import pytest

from protocol.uuids import ZERO_UUID, from_text, random_uuid
from storage.partition_metadata import (
    BadPartitionMetadata,
    format_partition_metadata,
    parse_partition_metadata,
    read_partition_metadata,
    write_partition_metadata,
)
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/data/topic-0")


def test_text_is_kafkas_and_has_no_newline_at_the_end() -> None:
    topic_id = from_text("yE-4XVDfSdeFkun9NFVDag")
    data = format_partition_metadata(topic_id)
    assert data == b"version: 0\ntopic_id: yE-4XVDfSdeFkun9NFVDag"
    assert parse_partition_metadata(data) == topic_id


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


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 0\n",
        b"version: 1\ntopic_id: yE-4XVDfSdeFkun9NFVDag",
        b"version: 0\ntopic_id: short",
        b"version: 0\ntopic_id=yE-4XVDfSdeFkun9NFVDag",
        format_partition_metadata(ZERO_UUID),
        b"\xff\xfe",
    ],
)
def test_malformed_file_is_named(data: bytes) -> None:
    files = FakeFiles()
    files.put(DIRECTORY / "partition.metadata", data)
    with pytest.raises(
        BadPartitionMetadata, match=r"/data/topic-0/partition\.metadata"
    ):
        read_partition_metadata(files, DIRECTORY)
