import shutil
from pathlib import Path

import pytest

from odradek.broker.adoption.metadata import (
    AdoptionError,
    ClusterMetadata,
    read_cluster_metadata,
)
from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.control_records import ControlType, encode_key
from odradek.protocol.metadata_records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    TopicRecord,
    encode_metadata_record,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Message
from odradek.storage.files.files import OsFiles
from tests.adopted import METADATA_GOLDEN

ID = b"t" * 16
SNAPSHOT = METADATA_GOLDEN / "snapshot" / "log-dir" / "__cluster_metadata-0"
LAST_SNAPSHOT = "00000000000000000127-0000000003.checkpoint"
TOPIC = TopicRecord(name="t", topic_id=ID)
PARTITION = PartitionRecord(
    partition_id=0, topic_id=ID, replicas=[1], directories=[b"d" * 16], leader_epoch=4
)


def state(*messages: Message) -> ClusterMetadata:
    metadata = ClusterMetadata()
    for message in messages:
        metadata.apply(encode_metadata_record(message))
    return metadata


def option(value: str | None, name: str = "retention.ms", kind: int = 2) -> Message:
    return ConfigRecord(resource_type=kind, resource_name="t", name=name, value=value)


def test_a_change_of_the_leader_raises_the_epoch() -> None:
    change = PartitionChangeRecord(partition_id=0, topic_id=ID, leader=1)
    isr_only = PartitionChangeRecord(partition_id=0, topic_id=ID, isr=[1])
    moved = PartitionChangeRecord(
        partition_id=0, topic_id=ID, replicas=[2], directories=[b"e" * 16]
    )
    metadata = state(TOPIC, PARTITION, change, isr_only, moved)
    partition = metadata.topics[ID].partitions[0]
    assert partition.leader_epoch == 5
    assert partition.replicas == [2]
    assert partition.directories == [b"e" * 16]


def test_options_go_with_their_topic() -> None:
    again = TopicRecord(name="t", topic_id=b"u" * 16)
    metadata = state(
        TOPIC, PARTITION, option("1"), RemoveTopicRecord(topic_id=ID), again
    )
    assert list(metadata.topics) == [b"u" * 16]
    assert metadata.topic_options.get("t", {}) == {}


def test_options_are_set_and_taken_away() -> None:
    metadata = state(TOPIC, option("1"), option("2", "flush.ms"), option(None))
    assert metadata.topic_options == {"t": {"flush.ms": "2"}}
    assert state(option("2", "x", kind=16)).topic_options == {}
    assert state(option("2", "x", kind=4)).broker_options == {"t": {"x": "2"}}


def test_a_transaction_counts_when_it_ends() -> None:
    begin = BeginTransactionRecord(name="Bootstrap records")
    assert ID not in state(begin, TOPIC).topics
    assert ID not in state(begin, TOPIC, AbortTransactionRecord()).topics
    assert ID in state(begin, TOPIC, EndTransactionRecord()).topics
    both = state(begin, TOPIC, AbortTransactionRecord(), ProducerIdsRecord())
    assert not both.topics


@pytest.mark.parametrize(
    "stranger",
    [
        PARTITION,
        RemoveTopicRecord(topic_id=ID),
        PartitionChangeRecord(partition_id=0, topic_id=ID),
    ],
)
def test_a_record_about_nothing_is_refused(stranger: Message) -> None:
    with pytest.raises(AdoptionError, match="which does not exist"):
        state(stranger)


def test_a_change_of_no_partition_is_refused() -> None:
    change = PartitionChangeRecord(partition_id=9, topic_id=ID)
    with pytest.raises(AdoptionError, match="t-9, which does not exist"):
        state(TOPIC, PARTITION, change)


def test_tokens_come_are_renewed_and_go() -> None:
    def record(token_id: str, expiration: int) -> DelegationTokenRecord:
        return DelegationTokenRecord(
            owner="User:alice",
            requester="User:bob",
            renewers=["User:carol"],
            issue_timestamp=1,
            max_timestamp=9,
            expiration_timestamp=expiration,
            token_id=token_id,
        )

    gone = RemoveDelegationTokenRecord(token_id="gone")
    metadata = state(record("id", 2), record("gone", 2), record("id", 3), gone)
    assert list(metadata.tokens.values()) == [
        DelegationToken("id", "User:alice", "User:bob", ("User:carol",), 1, 3, 9)
    ]


def copied(tmp_path: Path) -> Path:
    target = tmp_path / "__cluster_metadata-0"
    shutil.copytree(SNAPSHOT, target)
    return target


def summary(directory: Path) -> tuple[object, ...]:
    notes: list[str] = []
    metadata = read_cluster_metadata(OsFiles(), directory, notes)
    return metadata.topics, metadata.topic_options, metadata.next_producer_id


def drop_log_before(directory: Path, offset: int) -> None:
    """What Kafka does once a snapshot has what the log held."""
    log = directory / f"{0:020d}.log"
    data = log.read_bytes()
    cut = next(p for p, header in scan(data) if header.base_offset >= offset)
    log.unlink()
    (directory / f"{offset:020d}.log").write_bytes(data[cut:])


def test_a_snapshot_and_the_rest_are_as_good_as_the_whole_log(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    from_both = summary(directory)
    (directory / "00000000000000000999-0000000003.checkpoint.part").write_bytes(b"x")
    for snapshot in directory.glob("*.checkpoint"):
        shutil.move(snapshot, tmp_path / snapshot.name)
    assert summary(directory) == from_both
    shutil.move(tmp_path / LAST_SNAPSHOT, directory)
    drop_log_before(directory, 127)
    assert summary(directory) == from_both


def test_a_damaged_snapshot_gives_way_to_an_older_one(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    whole = summary(directory)
    path = directory / LAST_SNAPSHOT
    data = path.read_bytes()
    footer_at = [position for position, _ in scan(data)][-1]
    for damaged in (
        data[:footer_at],  # as a kill leaves it
        b"",
        bytes([*data[:100], data[100] ^ 1, *data[101:]]),
        data[:-1],
    ):
        path.write_bytes(damaged)
        assert summary(directory) == whole
        notes: list[str] = []
        read_cluster_metadata(OsFiles(), directory, notes)
        assert notes == [f"{path} is not a whole snapshot; an older one is used"]


def test_what_is_missing_between_snapshot_and_log_is_refused(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    (directory / LAST_SNAPSHOT).unlink()
    drop_log_before(directory, 127)
    with pytest.raises(AdoptionError, match="what was at offset 98 is missing"):
        summary(directory)


def test_no_metadata_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdoptionError, match="neither a snapshot nor a log"):
        summary(tmp_path)


def test_damage_inside_is_refused_at_every_batch(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    for snapshot in directory.glob("*.checkpoint"):
        snapshot.unlink()
    log = directory / f"{0:020d}.log"
    data = log.read_bytes()
    positions = [position for position, _ in scan(data)]
    for position in positions[:-1]:
        at = position + 65
        log.write_bytes(bytes([*data[:at], data[at] ^ 4, *data[at + 1 :]]))
        with pytest.raises(AdoptionError, match=f"damaged at positions {position} "):
            summary(directory)


def test_a_torn_tail_is_left_out_and_told(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    log = directory / f"{0:020d}.log"
    data = log.read_bytes()
    last = [position for position, _ in scan(data)][-1]
    log.write_bytes(data[: last + 30])
    notes: list[str] = []
    read_cluster_metadata(OsFiles(), directory, notes)
    assert notes == [f"{log} has a torn tail at position {last}, which is left out"]
    # Behind a later segment it is no tail.
    next_offset = [header.next_offset for _, header in scan(data)][-2]
    (directory / f"{next_offset:020d}.log").write_bytes(data[last:])
    with pytest.raises(AdoptionError, match="is damaged at positions"):
        summary(directory)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (bytes([1, 40, 0]), "written by a newer Kafka: a metadata record of type 40"),
        (bytes([1, 2, 7]), "a TopicRecord of version 7, known up to 0"),
        (bytes([1, 2, 0, 1]), "batch at offset 0: "),
    ],
)
def test_what_cannot_be_read_is_refused(
    value: bytes, complaint: str, tmp_path: Path
) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(build_batch([NewRecord(None, value, 1)]))
    with pytest.raises(AdoptionError, match=complaint):
        summary(tmp_path)


def test_a_snapshot_that_ends_inside_of_a_batch_contradicts_the_log(
    tmp_path: Path,
) -> None:
    footer = NewRecord(encode_key(ControlType.SNAPSHOT_FOOTER), b"", 1)
    (tmp_path / f"{1:020d}-{1:010d}.checkpoint").write_bytes(
        build_batch([footer], is_control=True)
    )
    record = NewRecord(None, encode_metadata_record(TOPIC), 1)
    (tmp_path / f"{0:020d}.log").write_bytes(build_batch([record, record]))
    with pytest.raises(AdoptionError, match="at offset 1 is missing"):
        summary(tmp_path)


def test_entries_of_access_control_lists_come_and_go_by_their_ids() -> None:
    def record(number: int, name: str) -> AccessControlEntryRecord:
        return AccessControlEntryRecord(
            id=bytes([number]) * 16,
            resource_type=2,
            resource_name=name,
            pattern_type=4,
            principal="User:alice",
            host="*",
            operation=3,
            permission_type=3,
        )

    gone = RemoveAccessControlEntryRecord(id=bytes([1]) * 16)
    metadata = state(record(1, "a"), record(2, "b"), gone)
    assert list(metadata.acls.values()) == [
        AclEntry(2, "b", 4, "User:alice", "*", 3, 3)
    ]
