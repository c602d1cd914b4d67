from odradek.broker.quorum.image.image import (
    EMPTY,
    MetadataImage,
    PartitionImage,
    TopicImage,
)

PARTITION = PartitionImage((1,), (1,), 1, 0, 0)


def test_partitions_come_by_name_and_number() -> None:
    b = TopicImage("b", b"b" * 16, {10: PARTITION, 9: PARTITION})
    a = TopicImage("a", b"z" * 16, {0: PARTITION})
    image = MetadataImage(
        topics={b.topic_id: b, a.topic_id: a},
        topic_ids={"b": b.topic_id, "a": b"z" * 16},
    )
    found = [(topic.name, number) for topic, number, _ in image.partitions()]
    assert found == [("a", 0), ("b", 9), ("b", 10)]


def test_the_empty_image_is_before_everything() -> None:
    assert (EMPTY.offset, EMPTY.epoch) == (-1, 0)
    assert not list(EMPTY.partitions())
