import pytest

from odradek.protocol.group_records import (
    GROUP_RECORDS,
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    CurrentPartitions,
    GroupMetadataValue,
    OffsetCommitValue,
)
from odradek.protocol.schema import Message

CLASSES = sorted(
    {cls for pair in GROUP_RECORDS.values() for cls in pair},
    key=lambda cls: cls.__name__,
)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_go_there_and_back_in_every_version(cls: type[Message]) -> None:
    for version in range(cls.min_version, cls.max_version + 1):
        assert cls.decode(cls().encode(version), version) == cls()


def test_an_offset_byte_by_byte() -> None:
    value = OffsetCommitValue(
        offset=4, leader_epoch=0, metadata="hi", commit_timestamp=5, topic_id=b"T" * 16
    )
    assert value.encode(4).hex(" ") == (
        "00 00 00 00 00 00 00 04 00 00 00 00 03 68 69 00 00 00 00 00 00 00 05"
        " 01 00 10" + " 54" * 16
    )
    assert OffsetCommitValue(offset=4, expire_timestamp=9).encode(1).endswith(b"\x09")


def test_a_member_as_apache_kafka_writes_it() -> None:
    """From the golden case consumer-offsets: no classic member is a 0 in its tag."""
    data = bytes.fromhex(
        "0003723106632d74776f0b2f3132372e302e302e31020473726301000493e00001000100"
    )
    value = ConsumerGroupMemberMetadataValue.decode(data, 0)
    assert (value.instance_id, value.rack_id) == (None, "r1")
    assert value.rebalance_timeout_ms == 300_000
    assert value.classic_member_metadata is None
    assert value.encode(0) == data


def test_a_classic_member_has_a_1_before_it() -> None:
    value = ConsumerGroupMemberMetadataValue(
        classic_member_metadata=ClassicMemberMetadata(session_timeout_ms=7)
    )
    assert ConsumerGroupMemberMetadataValue.decode(value.encode(0), 0) == value
    assert value.encode(0).hex().endswith("01" + "0007" + "01" + "00000007" + "0100")


def test_epochs_of_an_assignment_are_a_tag() -> None:
    one = CurrentPartitions(partitions=[0, 1], assignment_epochs=[2, 2])
    value = ConsumerGroupCurrentMemberAssignmentValue(assigned_partitions=[one])
    again = ConsumerGroupCurrentMemberAssignmentValue.decode(value.encode(0), 0)
    assert again == value


def test_older_versions_lack_fields() -> None:
    assert len(GroupMetadataValue().encode(0)) < len(GroupMetadataValue().encode(2))
