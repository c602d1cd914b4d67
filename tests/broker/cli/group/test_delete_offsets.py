from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import Member, create_topic


def test_offsets_of_topics_that_nobody_reads_are_forgotten(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, "old", 2)
    create_topic(cluster, "read", 1)
    offsets = {("old", 0): 3, ("old", 1): 4, ("read", 0): 5}
    places = {TopicPartition(*place): offset for place, offset in offsets.items()}
    commit_offsets(cluster, "forget", places)
    member = Member(cluster, "forget", "read", 0)
    both = ("--topic", "old:0", "--topic", "read")
    assert shell.group("delete-offsets", "forget", *both, code=1) == [
        "old-0: forgotten (was 3)"
    ]
    assert shell.error == (
        "odradek group delete-offsets: forget: read-0: GROUP_SUBSCRIBED_TO_TOPIC: A"
        " member of the group subscribes to this topic.\n"
    )
    assert list(committed_offsets(cluster, "forget")) == [("old", 1), ("read", 0)]
    member.leave()
    found = shell.json("delete-offsets", "forget", "--topic", "old")
    assert [(each["partition"], each["currentOffset"]) for each in found] == [
        (0, None),
        (1, 4),
    ]


def test_what_is_not_there(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "there", 1)
    for topic, said in {
        "there": "nobody: GROUP_ID_NOT_FOUND: There is no such group.",
        "there:1": "there: UNKNOWN_TOPIC_OR_PARTITION: Topic there has no partition 1,"
        " only 0.",
        "nowhere": "nowhere: UNKNOWN_TOPIC_OR_PARTITION: This broker has no such topic"
        " or partition.",
    }.items():
        assert shell.group("delete-offsets", "nobody", "--topic", topic, code=1) == []
        assert shell.error == f"odradek group delete-offsets: {said}\n"
