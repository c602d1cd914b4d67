from typing import Any

import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import PartitionImage
from odradek.protocol.membership_records import ClearElrRecord
from odradek.protocol.metadata_records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.schema import Message
from tests.broker.quorum.image.states import state

ID = b"t" * 16
TOPIC = TopicRecord(name="t", topic_id=ID)
PARTITION = PartitionRecord(
    partition_id=0,
    topic_id=ID,
    replicas=[1, 2],
    isr=[1],
    leader=1,
    leader_epoch=4,
    partition_epoch=6,
    directories=[b"d" * 16, b"e" * 16],
    eligible_leader_replicas=[2],
    last_known_elr=[3],
)


def changed(*records: Message, **fields: Any) -> PartitionImage:
    change = PartitionChangeRecord(partition_id=0, topic_id=ID, **fields)
    return state(TOPIC, PARTITION, *records, change).topics[ID].partitions[0]


def test_each_change_raises_the_epoch_and_a_leader_the_leader_epoch() -> None:
    before = state(TOPIC, PARTITION).topics[ID].partitions[0]
    assert changed() == before._replace(partition_epoch=7)
    same_leader = before._replace(partition_epoch=7, leader_epoch=5)
    assert changed(leader=1) == same_leader
    assert changed(leader=-1) == same_leader._replace(leader=-1)


def test_a_change_replaces_what_it_names() -> None:
    moved = changed(
        replicas=[3],
        isr=[],
        removing_replicas=[1],
        adding_replicas=[3],
        leader_recovery_state=1,
        eligible_leader_replicas=[],
        last_known_elr=[1],
        directories=[b"f" * 16],
    )
    assert moved == PartitionImage(
        (3,), (), 1, 4, 7, (1,), (3,), 1, (b"f" * 16,), (), (1,)
    )


def test_records_without_directories_are_older_than_these() -> None:
    bare = PartitionRecord(partition_id=0, topic_id=ID, replicas=[1, 2])
    partition = state(TOPIC, bare).topics[ID].partitions[0]
    assert partition.directories == (bytes(16), bytes(16))
    assert (partition.elr, partition.last_known_elr) == ((), ())


def test_eligible_leaders_are_cleared_of_one_topic_or_of_all() -> None:
    for name in ("t", ""):
        records = (TOPIC, PARTITION, ClearElrRecord(topic_name=name))
        partition = state(*records).topics[ID].partitions[0]
        assert (partition.elr, partition.last_known_elr) == ((), ())
        assert partition.partition_epoch == 7
        again = state(*records, ClearElrRecord(topic_name=name))
        assert again.topics[ID].partitions[0] == partition
    with pytest.raises(MetadataLogError, match="there is no topic u"):
        state(TOPIC, ClearElrRecord(topic_name="u"))


def test_a_topic_takes_its_options_along() -> None:
    options = [
        ConfigRecord(resource_type=kind, resource_name="t", name="n", value="v")
        for kind in (2, 4)
    ]
    again = TopicRecord(name="t", topic_id=b"u" * 16)
    image = state(TOPIC, PARTITION, *options, RemoveTopicRecord(topic_id=ID), again)
    assert list(image.topics) == [b"u" * 16]
    assert image.topic_ids == {"t": b"u" * 16}
    assert [resource.kind for resource in image.options] == [4]


@pytest.mark.parametrize(
    "record",
    [
        RemoveTopicRecord(topic_id=b"x" * 16),
        PartitionRecord(partition_id=0, topic_id=b"x" * 16),
        PartitionChangeRecord(partition_id=0, topic_id=b"x" * 16),
        PartitionChangeRecord(partition_id=8, topic_id=ID),
    ],
)
def test_a_record_about_nothing_is_refused(record: Message) -> None:
    with pytest.raises(MetadataLogError, match=r"offset 2: .*there is no"):
        state(TOPIC, PARTITION, record)
