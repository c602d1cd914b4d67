import struct
import zlib
from pathlib import Path

import pytest

from odradek.broker.adoption.metadata import AdoptionError
from odradek.broker.adoption.survey import (
    NO_EPOCH,
    Survey,
    check_no_catalog,
    check_same_cluster,
    held,
    survey,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import OsFiles
from odradek.storage.files.meta_properties import MetaProperties

VERSION_1 = "version=1\ncluster.id=c1\nnode.id=3\ndirectory.id=hfbp3MuNh83ByjUX8Yn6nw\n"
PARTITION_METADATA = "version: 0\ntopic_id: gDQd62aiQP24hSEc0jhfmw"


def log_dir(tmp_path: Path, name: str = "a", properties: str = VERSION_1) -> Path:
    directory = tmp_path / name
    directory.mkdir()
    (directory / "meta.properties").write_text(properties)
    return directory


def partition(directory: Path, name: str, **files: str) -> Path:
    path = directory / name
    path.mkdir()
    (path / "partition.metadata").write_text(files.pop("metadata", PARTITION_METADATA))
    for log, content in files.items():
        (path / f"{int(log.removeprefix('log_')):020d}.log").write_text(content)
    return path


def surveyed(*directories: Path) -> tuple[Survey, list[str]]:
    notes: list[str] = []
    return survey(OsFiles(), directories, notes), notes


def refusal(*directories: Path) -> str:
    with pytest.raises(AdoptionError) as refused:
        surveyed(*directories)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("properties", "identity"),
    [
        (VERSION_1, ("c1", 3)),
        ("#\n#Sat Nov 21\nversion=0\nbroker.id=4\ncluster.id=old\n", ("old", 4)),
    ],
)
def test_both_versions_of_meta_properties(
    properties: str, identity: tuple[str, int], tmp_path: Path
) -> None:
    found, notes = surveyed(log_dir(tmp_path, properties=properties))
    assert found.identity[:2] == identity
    assert notes == []


def test_what_is_not_one_brokers_is_refused(tmp_path: Path) -> None:
    first = log_dir(tmp_path)
    other = log_dir(tmp_path, "b", VERSION_1.replace("c1", "c2"))
    assert refusal(first, other) == f"{other} belongs to cluster c2, {first} to c1"
    third = log_dir(tmp_path, "c", VERSION_1.replace("id=3", "id=5"))
    assert refusal(first, third) == f"{third} belongs to node 5, {first} to node 3"


def test_what_is_no_directory_of_kafka_is_refused(tmp_path: Path) -> None:
    assert "has no meta.properties" in refusal(tmp_path)
    assert "is not a directory" in refusal(tmp_path / "nothing")
    newer = log_dir(tmp_path, properties=VERSION_1.replace("version=1", "version=2"))
    assert "version 2 is not known" in refusal(newer)
    cut = log_dir(tmp_path, "b", "version=1\nnode.id=3\n")
    assert "cluster.id is missing" in refusal(cut)
    empty = log_dir(tmp_path, "c", "version=1\nnode.id=3\ncluster.id=")
    assert "cluster.id is empty" in refusal(empty)


def test_a_directory_with_a_catalogue_is_refused(tmp_path: Path) -> None:
    directory = log_dir(tmp_path)
    check_no_catalog(OsFiles(), directory)
    (directory / "catalog.backup").write_bytes(b"")
    assert "has a catalogue already (catalog.backup)" in refusal(directory)


def test_partitions_are_told_from_everything_else(tmp_path: Path) -> None:
    directory = log_dir(tmp_path)
    uuid = "0ac6651f2e6d44939c937d75b7f64fef"
    partition(directory, "a.b_c-d-0", log_0="")
    partition(directory, "full-12", log_0="records")
    partition(directory, "deleted-from-0", log_17="")
    epochs = partition(directory, "epochs-0") / "leader-epoch-checkpoint"
    epochs.write_text("0\n2\n3 0\n8 17\n")
    set_aside = [
        partition(directory, f"t-{n}.{uuid}-{kind}")
        for n, kind in enumerate(("delete", "future", "stray"))
    ]
    (directory / "__cluster_metadata-0").mkdir()
    (directory / "remote-log-index-cache").mkdir()
    (directory / "file-0").write_text("")
    found, notes = surveyed(directory)
    assert notes == []
    assert {
        name: (each.topic_partition, each.leader_epoch, each.has_records)
        for each in found.partitions.values()
        for name in [each.path.name]
    } == {
        "a.b_c-d-0": (TopicPartition("a.b_c-d", 0), NO_EPOCH, False),
        "full-12": (TopicPartition("full", 12), NO_EPOCH, True),
        "deleted-from-0": (TopicPartition("deleted-from", 0), NO_EPOCH, True),
        "epochs-0": (TopicPartition("epochs", 0), 8, False),
    }
    assert found.set_aside == set_aside
    assert found.unclean == [directory]
    (directory / ".kafka_cleanshutdown").write_text("")
    assert surveyed(directory)[0].unclean == []


def test_a_partition_in_two_directories_is_refused(tmp_path: Path) -> None:
    first, second = log_dir(tmp_path), log_dir(tmp_path, "b")
    paths = [partition(directory, "t-0") for directory in (first, second)]
    assert refusal(first, second) == f"t-0 is in {paths[1]} and in {paths[0]}"


def test_what_a_partition_does_not_say_is_told(tmp_path: Path) -> None:
    directory = log_dir(tmp_path)
    damaged = partition(directory, "t-0", metadata="version: 0\ntopic_id: no")
    zero = partition(directory, "t-1", metadata="version: 0\ntopic_id: " + "A" * 22)
    (damaged / "leader-epoch-checkpoint").write_text("0\n1\nx y\n")
    found, notes = surveyed(directory)
    assert [each.topic_id for each in found.partitions.values()] == [None, None]
    assert len(notes) == 3
    assert str(damaged) in notes[0]
    assert "the epochs are taken from the log" in notes[1]
    assert str(zero) in notes[2]


def test_a_newer_partition_metadata_is_refused(tmp_path: Path) -> None:
    directory = log_dir(tmp_path)
    partition(directory, "t-0", metadata=PARTITION_METADATA.replace(": 0", ": 3"))
    assert "version '3' is not known: it was written by a newer Kafka" in (
        refusal(directory)
    )


def old_message(magic: int) -> bytes:
    """A message as Kafka wrote it before 0.11."""
    timestamp = struct.pack(">q", 1) if magic else b""
    body = bytes([magic, 0]) + timestamp + struct.pack(">ii", -1, 2) + b"hi"
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_formats_are_refused(magic: int, tmp_path: Path) -> None:
    directory = log_dir(tmp_path)
    log = partition(directory, "t-0") / f"{0:020d}.log"
    log.write_bytes(old_message(magic))
    assert f"{log} holds messages of format {magic}" in refusal(directory)
    damaged = bytearray(build_batch([NewRecord(b"k", b"v", 1)]))
    damaged[16] = magic
    log.write_bytes(damaged)
    assert surveyed(directory)[0].partitions


def test_metadata_of_another_cluster_are_refused(tmp_path: Path) -> None:
    directory = log_dir(tmp_path)
    check_same_cluster(OsFiles(), directory, MetaProperties("c1", 9))
    check_same_cluster(OsFiles(), tmp_path, MetaProperties("c1", 9))
    with pytest.raises(AdoptionError, match="cluster c1, the logs belong to c2"):
        check_same_cluster(OsFiles(), directory, MetaProperties("c2", 3))


def test_no_lock_is_made_where_there_is_none(tmp_path: Path) -> None:
    with held([tmp_path]):
        assert list(tmp_path.iterdir()) == []
