from odradek.pipeline.records.offset_range import OffsetRange
from odradek.protocol.topic_partition import TopicPartition


def test_what_a_range_says_of_itself() -> None:
    wanted = OffsetRange("t", 3, 10, 17)
    assert wanted.place == TopicPartition("t", 3)
    assert wanted.count == 7
    assert str(wanted) == "t-3 [10, 17)"
