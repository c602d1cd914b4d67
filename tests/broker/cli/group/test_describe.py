import time

import pytest

from odradek.client.cluster import Cluster
from odradek.client.errors import raise_for
from odradek.client.group_offsets import commit_offsets
from odradek.client.metadata import Broker
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import Member, create_topic, produce
from tests.patience import PATIENCE_S
from tests.streams_member import StreamsMember, beat_until


def test_members_offsets_and_lag(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "seen", 3)
    produce(cluster, "seen", 0, range(10))
    produce(cluster, "seen", 1, range(5))
    commit_offsets(cluster, "seen", {TopicPartition("seen", 0): 4})
    member = Member(cluster, "seen", "seen", 0, 1)
    title, head, *rows, total = shell.group("describe", "seen")
    assert title.startswith(
        "group seen: Stable, classic consumer, assignor range, 1 member, coordinator 1"
    )
    assert head.split() == [
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    ]
    owner = [member.member_id, "/127.0.0.1", "odradek"]
    assert [row.split() for row in rows] == [
        ["seen", "0", "4", "10", "6", *owner],
        ["seen", "1", "-", "5", "-", *owner],
    ]
    assert total == "total lag: 6"
    title, _, row = shell.group("describe", "seen", "--members")
    assert row.split() == [member.member_id, "-", *owner[1:], "2", "seen:0,1"]
    head, row = shell.group("describe", "seen", "--state")
    assert row.split()[0] == "seen"
    assert row.split()[-4:] == ["range", "classic", "Stable", "1"]
    member.leave()
    title, _, *rows, total = shell.group("describe", "seen")
    assert title.startswith("group seen: Empty, classic consumer, 0 members")
    assert [row.split() for row in rows] == [["seen", "0", "4", "10", "6", *"---"]]
    assert len(shell.group("describe", "seen", "--members")) == 1


def test_the_same_as_json(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "as-json", 1)
    produce(cluster, "as-json", 0, range(3))
    commit_offsets(cluster, "as-json", {TopicPartition("as-json", 0): 1})
    member = Member(cluster, "as-json", "as-json", 0)
    (group,) = shell.json("describe", "as-json")
    assert group.pop("coordinator").keys() == {"id", "host", "port"}
    assert group == {
        "group": "as-json",
        "state": "Stable",
        "type": "classic",
        "protocolType": "consumer",
        "assignor": "range",
        "epoch": None,
        "members": [
            {
                "memberId": member.member_id,
                "groupInstanceId": None,
                "clientId": "odradek",
                "host": "/127.0.0.1",
                "epoch": None,
                "assignment": [{"topic": "as-json", "partition": 0}],
                "targetAssignment": None,
            }
        ],
        "partitions": [
            {
                "topic": "as-json",
                "partition": 0,
                "currentOffset": 1,
                "logEndOffset": 3,
                "lag": 2,
                "memberId": member.member_id,
                "error": None,
            }
        ],
        "totalLag": 2,
    }
    member.leave()


def test_several_groups_and_one_that_is_not_there(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, "several", 1)
    for name in ("several-1", "several-2"):
        commit_offsets(cluster, name, {TopicPartition("several", 0): 0})
    given = ("several-1", "several-none", "several-2", "several-1")
    found = shell.json("describe", *given, code=1)
    (failed,) = [each for each in found if "error" in each]
    assert failed["group"] == failed["error"]["what"] == "several-none"
    found.remove(failed)
    assert [each["group"] for each in found] == ["several-1", "several-2"]
    assert shell.error == (
        "odradek group describe: several-none: GROUP_ID_NOT_FOUND: Group several-none"
        " not found.\n"
    )
    assert shell.group("describe", "several-none", code=1) == []
    every = {each["group"] for each in shell.json("describe", "--all")}
    assert {"several-1", "several-2"} <= every


def beat(cluster: Cluster, member_id: str, epoch: int) -> int:
    """The epoch of a member of the consumer protocol that never gives anything up."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="waiting",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=1000 * PATIENCE_S,
        subscribed_topic_names=["waiting"],
        topic_partitions=[] if epoch == 0 else None,
    )

    def ask(coordinator: Broker) -> int:
        node_id = coordinator.node_id
        told = cluster.request(request, ConsumerGroupHeartbeatResponse, node_id)
        raise_for(told.error_code, told.error_message)
        return told.member_epoch

    return cluster.at_coordinator("waiting", ask)


def test_who_keeps_whom_waiting(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "waiting", 2)
    epochs = {"c1": beat(cluster, "c1", 0)}
    deadline = time.monotonic() + PATIENCE_S

    def beat_until(line: str) -> list[str]:
        while True:
            for name, epoch in epochs.items():
                epochs[name] = beat(cluster, name, epoch)
            said = shell.group("describe", "waiting", "--members")
            if any(line in each for each in said):
                return said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)

    beat_until("waiting:0,1")
    epochs["c2"] = beat(cluster, "c2", 0)
    title, _, *_, waiting = beat_until("waits for c1")
    assert title.startswith("group waiting: Reconciling, consumer, assignor uniform")
    (group,) = shell.json("describe", "waiting")
    epoch = group["epoch"]
    assert f"epoch {epoch}, 2 members" in title
    one, two = sorted(group["members"], key=lambda each: str(each["memberId"]))
    assert one["epoch"] < epoch
    assert len(one["assignment"]) == 2
    (place,) = two["targetAssignment"]
    assert two["assignment"] == []
    assert waiting == (
        f"c2 (epoch {two['epoch']} of {epoch}) waits for c1 to give up"
        f" waiting:{place['partition']}"
    )
    assert shell.group("describe", "waiting")[-1] == waiting
    for name in epochs:
        beat(cluster, name, -1)


def test_tasks_of_a_streams_group(cluster: Cluster, shell: Shell) -> None:
    one = StreamsMember(cluster, "words", "one")
    one.join("words-in")
    title, nothing, waiting = shell.group("describe", "words")
    assert title.startswith("group words: NotReady, streams, epoch 2, 1 member, coord")
    assert nothing == "nothing committed, nothing assigned"
    assert waiting.startswith("waits for topics: words-")
    create_topic(cluster, "words-in", 2)
    beat_until(lambda: bool(one.active), one)
    two = StreamsMember(cluster, "words", "two")
    two.join("words-in")
    beat_until(lambda: bool(two.active), one, two)
    title, head, *rows = shell.group("describe", "words", "--members")
    assert "Stable, streams, epoch" in title
    assert head.split()[-3:] == ["#TASKS", "ACTIVE", "STANDBY"]
    assert [row.split() for row in rows] == [
        ["one", "process-one", "/127.0.0.1", "odradek", "2", "0:0", "1:0"],
        ["two", "process-two", "/127.0.0.1", "odradek", "2", "0:1", "1:1"],
    ]
    rows = shell.group("describe", "words")[2:6]
    assert [row.split()[:2] + row.split()[5:6] for row in rows] == [
        ["words-in", "0", "one"],
        ["words-in", "1", "two"],
        ["words-words-repartition", "0", "one"],
        ["words-words-repartition", "1", "two"],
    ]
    (group,) = shell.json("describe", "words")
    member = group["members"][0]
    assert member["processId"] == "process-one"
    assert (member["activeTasks"], member["standbyTasks"], member["warmupTasks"]) == (
        {"0": [0], "1": [0]},
        {},
        {},
    )
    assert ["words", "streams", "streams", "Stable"] in [
        line.split() for line in shell.group("list", "--type", "streams")
    ]
    for each in (one, two):
        each.leave()
    reset = ("reset-offsets", "words", "--to-latest", "--topic", "words-in:0")
    assert shell.group(*reset, "--execute")[-1] == "1 offset was set"
    assert shell.group("delete", "words") == ["words: deleted"]


@pytest.mark.parametrize(
    "arguments", [[], ["a", "--all"], ["a", "--members", "--state"]]
)
def test_bad_usage(arguments: list[str], shell: Shell) -> None:
    with pytest.raises(SystemExit) as ended:
        shell.group("describe", *arguments)
    assert ended.value.code == 2
