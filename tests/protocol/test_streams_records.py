import pytest

from odradek.protocol.schema import Message
from odradek.protocol.streams_records import (
    STREAMS_RECORDS,
    CurrentTasks,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMetadataValue,
)

CLASSES = sorted(
    {cls for pair in STREAMS_RECORDS.values() for cls in pair},
    key=lambda cls: cls.__name__,
)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_go_there_and_back(cls: type[Message]) -> None:
    assert cls.decode(cls().encode(0), 0) == cls()


def test_what_is_not_known_of_an_epoch_is_no_tag() -> None:
    unknown = StreamsGroupMetadataValue(epoch=2)
    assert unknown.encode(0).endswith(b"\0")
    known = StreamsGroupMetadataValue(epoch=2, validated_topology_epoch=0)
    assert known.encode(0)[-7:] == b"\1\0\4\0\0\0\0"


def test_epochs_of_tasks_are_a_tag() -> None:
    tasks = CurrentTasks(subtopology_id="0", partitions=[1], assignment_epochs=[7])
    value = StreamsGroupCurrentMemberAssignmentValue(active_tasks=[tasks])
    again = StreamsGroupCurrentMemberAssignmentValue.decode(value.encode(0), 0)
    assert again == value
