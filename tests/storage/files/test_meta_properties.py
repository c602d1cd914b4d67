from pathlib import Path

import pytest

from odradek.protocol.uuids import from_text, random_uuid
from odradek.storage.files.files import OsFiles
from odradek.storage.files.meta_properties import (
    BadMetaProperties,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[2] / "golden/kafka-4.3.1/plain-size-roll/log-dir"
DIRECTORY = Path("/data")


def read(data: bytes) -> MetaProperties | None:
    files = FakeFiles()
    files.put(DIRECTORY / "meta.properties", data)
    return read_meta_properties(files, DIRECTORY)


def test_identity_comes_back_after_a_power_cut() -> None:
    files = FakeFiles()
    files.put(DIRECTORY / "x", b"")
    identity = MetaProperties("cluster", 3, random_uuid())
    write_meta_properties(files, DIRECTORY, identity)
    files.power_cut()
    assert read_meta_properties(files, DIRECTORY) == identity


def test_kafkas_file_is_read() -> None:
    assert read_meta_properties(OsFiles(), GOLDEN) == MetaProperties(
        "b2RyYWRlay1yZWZlcmVuYw", 1, from_text("yheGsQI8Ub5tzphXejDqHQ")
    )


def test_version_0_has_a_broker_id() -> None:
    data = b"# made by a broker\nversion = 0\nbroker.id=5\ncluster.id=c\n"
    assert read(data) == MetaProperties("c", 5)


def test_missing_file_is_a_new_directory() -> None:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    assert read_meta_properties(files, DIRECTORY) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "version is missing"),
        (b"version=2\ncluster.id=c\nnode.id=1\n", "version 2"),
        (b"version=1\ncluster.id=c\n", "node.id is missing"),
        (b"version=1\nnode.id=1\n", "cluster.id is missing"),
        (b"version=1\ncluster.id=c\nnode.id=one\n", "one"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", "UUID"),
    ],
)
def test_malformed_file_says_why(data: bytes, message: str) -> None:
    with pytest.raises(BadMetaProperties, match=message):
        read(data)
