from pathlib import Path

import pytest

from odradek.protocol.errors import MalformedRequest
from odradek.protocol.metadata_records import (
    NO_LEADER_CHANGE,
    ConfigRecord,
    MetadataRecordType,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    UnknownMetadataRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate

GOLDEN = Path(__file__).parents[1] / "golden" / "kafka-4.3.1-metadata"
FILES = sorted(
    path
    for path in GOLDEN.rglob("__cluster_metadata-0/*")
    if path.suffix in (".log", ".checkpoint")
)
VERSION_AT = 2
OF_LOGINS = {
    MetadataRecordType.USER_SCRAM_CREDENTIAL,
    MetadataRecordType.ACCESS_CONTROL_ENTRY,
}


def values(path: Path) -> list[bytes]:
    """The values of the data records in a file of Kafka's metadata log."""
    data = path.read_bytes()
    return [
        record.value
        for position, header in scan(data)
        if not header.is_control
        for record in iterate(memoryview(data)[position : position + header.size])
        if record.value is not None
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:20])
def test_kafkas_records_are_read_and_written_byte_for_byte(path: Path) -> None:
    seen = set()
    for value in values(path):
        record_type, message = decode_metadata_record(value)
        seen.add(record_type)
        if message is not None:
            assert encode_metadata_record(message, value[VERSION_AT]) == value
            assert message.unknown_tags == {}
    if "logins" in path.parts:
        assert seen >= OF_LOGINS
    else:
        assert {MetadataRecordType.TOPIC, MetadataRecordType.PARTITION} <= seen


def test_a_change_says_only_what_is_different() -> None:
    change = PartitionChangeRecord(partition_id=1, topic_id=b"t" * 16, isr=[7])
    again = decode_metadata_record(encode_metadata_record(change)).message
    assert isinstance(again, PartitionChangeRecord)
    assert again == change
    assert again.leader == NO_LEADER_CHANGE
    assert again.replicas is None


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_partition_in_all_its_versions(version: int) -> None:
    record = PartitionRecord(
        partition_id=3, topic_id=b"t" * 16, replicas=[7, 8], leader=7, leader_epoch=5
    )
    value = encode_metadata_record(record, version)
    assert decode_metadata_record(value) == (MetadataRecordType.PARTITION, record)


def test_an_option_can_be_taken_away() -> None:
    record = ConfigRecord(resource_type=2, resource_name="t", name="n", value=None)
    assert decode_metadata_record(encode_metadata_record(record)).message == record


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (bytes([2, 2, 0]), "frame 2"),
        (bytes([1, 29, 0]), "type 29"),
        (bytes([1, 0xAC, 2, 0]), "type 300"),
        (bytes([1, 6, 0]), "type 6"),
        (bytes([1, 3, 3]), "a PartitionRecord of version 3, known up to 2"),
    ],
)
def test_what_is_newer_is_refused_with_its_number(value: bytes, complaint: str) -> None:
    with pytest.raises(UnknownMetadataRecord, match=complaint):
        decode_metadata_record(value)


def test_of_what_is_not_wanted_the_version_does_not_matter() -> None:
    value = bytes([1, MetadataRecordType.REGISTER_BROKER, 9]) + b"anything"
    kind = MetadataRecordType.REGISTER_BROKER
    assert decode_metadata_record(value, [kind]) == (kind, None)
    with pytest.raises(
        UnknownMetadataRecord, match="RegisterBrokerRecord of version 9"
    ):
        decode_metadata_record(value)


def test_a_record_cut_anywhere_is_malformed() -> None:
    value = encode_metadata_record(TopicRecord(name="orders", topic_id=b"t" * 16))
    for size in range(len(value)):
        with pytest.raises(MalformedRequest):
            decode_metadata_record(value[:size])
