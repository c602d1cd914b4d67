from odradek.protocol.topic_partition import TopicPartition


def test_printed_as_its_directory_is_named() -> None:
    assert str(TopicPartition("dots.and-dashes", 3)) == "dots.and-dashes-3"


def test_is_a_key() -> None:
    assert {TopicPartition("t", 1): "here"}[TopicPartition("t", 1)] == "here"
