from odradek.broker.cluster.coordination.named_partitions import by_topic
from odradek.protocol.topic_partition import TopicPartition


def test_partitions_stand_below_their_topic_in_their_order() -> None:
    wanted = [TopicPartition(*each) for each in (("b", 2), ("a", 0), ("b", 1))]
    assert by_topic(wanted) == {"b": [2, 1], "a": [0]}
