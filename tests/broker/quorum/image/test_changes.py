from random import Random
from typing import Any

from odradek.broker.quorum.image.changes import PARTITIONS, SECTIONS, Change, changes
from odradek.broker.quorum.image.image import (
    EMPTY,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.quorum.image.replay import Replay
from odradek.protocol.record_batch import read_header
from tests.broker.quorum.image.random_history import History
from tests.fakes.controller import batch_of

ID = b"t" * 16
PARTITION = PartitionImage((1,), (1,), 1, 0, 0)


def with_topic(*partitions: PartitionImage) -> MetadataImage:
    topic = TopicImage("t", ID, dict(enumerate(partitions)))
    return MetadataImage(topics={ID: topic}, topic_ids={"t": ID})


def test_of_a_topic_that_stays_only_the_partitions_change() -> None:
    moved = PARTITION._replace(leader=2)
    assert list(
        changes(with_topic(PARTITION, PARTITION), with_topic(PARTITION, moved))
    ) == [Change(PARTITIONS, (ID, 1), PARTITION, moved)]
    assert not list(changes(with_topic(PARTITION), with_topic(PARTITION)))


def test_a_topic_comes_and_goes_with_its_partitions() -> None:
    there = with_topic(PARTITION)
    topic = there.topics[ID]
    assert list(changes(EMPTY, there)) == [
        Change("topics", ID, None, topic),
        Change(PARTITIONS, (ID, 0), None, PARTITION),
    ]
    assert list(changes(there, EMPTY)) == [
        Change("topics", ID, topic, None),
        Change(PARTITIONS, (ID, 0), PARTITION, None),
    ]


def flat(image: MetadataImage) -> dict[tuple[str, Any], Any]:
    found = {}
    for section in SECTIONS:
        for key, value in getattr(image, section).items():
            found[section, key] = value.name if section == "topics" else value
    for topic in image.topics.values():
        for number, partition in topic.partitions.items():
            found[PARTITIONS, (topic.topic_id, number)] = partition
    return found


def test_what_was_and_the_changes_are_what_is() -> None:
    for seed in range(5):
        history = History(Random(seed))
        replay, before, offset = Replay(), EMPTY, 0
        while offset < 150:
            messages = list(history.records(history.draw.randint(1, 12)))
            batch = batch_of(messages, offset, 1)
            offset += len(messages)
            replay.apply(read_header(batch), batch)
            after, expected = replay.publish(), flat(before)
            for section, key, old, new in changes(before, after):
                assert old != new
                assert ((section, key) in expected) == (old is not None)
                if new is None:
                    del expected[section, key]
                else:
                    expected[section, key] = new.name if section == "topics" else new
            assert expected == flat(after), seed
            before = after
