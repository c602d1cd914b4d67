from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import Member, create_topic


def test_each_group_goes_or_says_why_not(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "gone", 1)
    place = TopicPartition("gone", 0)
    for name in ("gone-1", "gone-2", "gone-3"):
        commit_offsets(cluster, name, {place: 1})
    member = Member(cluster, "gone-2", "gone", 0)
    given = ("gone-1", "gone-2", "gone-none", "gone-3", "gone-1")
    assert shell.group("delete", *given, code=1) == [
        "gone-1: deleted",
        "gone-3: deleted",
    ]
    assert shell.error.splitlines() == [
        "odradek group delete: gone-2: NON_EMPTY_GROUP: The group still has members.",
        "odradek group delete: gone-none: GROUP_ID_NOT_FOUND: There is no such group.",
    ]
    assert committed_offsets(cluster, "gone-1") == {}
    assert list(committed_offsets(cluster, "gone-2")) == [place]
    member.leave()
    assert shell.json("delete", "gone-2") == [
        {"group": "gone-2", "deleted": True, "error": None}
    ]
    assert shell.json("delete", "gone-2", code=1) == [
        {
            "group": "gone-2",
            "deleted": False,
            "error": {
                "code": "GROUP_ID_NOT_FOUND",
                "message": "There is no such group.",
                "what": "gone-2",
            },
        }
    ]


def test_a_name_that_was_meant_is_said(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "near", 1)
    commit_offsets(cluster, "near-billing", {TopicPartition("near", 0): 1})
    for action in ("delete", "describe"):
        shell.group(action, "near-biling", code=1)
        assert shell.error.endswith(" Did you mean near-billing?\n")
