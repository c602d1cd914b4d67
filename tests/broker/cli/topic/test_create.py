from odradek.client.cluster import Cluster
from odradek.client.topics import describe_topics
from tests.broker.cli.conftest import Shell


def test_a_topic_is_made(cluster: Cluster, shell: Shell) -> None:
    given = ("--partitions", "3", "--config", "retention.ms=5000")
    assert shell.run("topic", "create", "made-1", "made-2", *given) == [
        "made-1: created with 3 partitions, replication factor 1",
        "made-2: created with 3 partitions, replication factor 1",
    ]
    (again,) = shell.run_json("topic", "create", "made-1", "--if-not-exists")
    assert (again["topic"], again["created"]) == ("made-1", False)
    assert shell.run("topic", "create", "made-1", "made-3", code=1) == [
        "made-3: created with 1 partition, replication factor 1"
    ]
    assert shell.error == (
        "odradek topic create: made-1: TOPIC_ALREADY_EXISTS: Topic 'made-1' already"
        " exists.\n"
    )
    (said,) = shell.run_json("topic", "create", "made-1", code=1)
    assert (said["topic"], said["created"]) == ("made-1", False)
    assert said["error"]["code"] == "TOPIC_ALREADY_EXISTS"
    (made,) = shell.run_json("topic", "create", "made-4")
    assert (made["created"], made["partitions"]) == (True, 1)
    assert len(made["topicId"]) == 22
    assert {f"made-{number}" for number in range(1, 5)} <= set(
        describe_topics(cluster).found
    )


def test_what_could_be_made_is_not(cluster: Cluster, shell: Shell) -> None:
    (asked,) = shell.run_json("topic", "create", "asked-for", "--dry-run")
    assert (asked["created"], asked["topicId"]) == (False, None)
    assert shell.run("topic", "create", "asked-for", "--dry-run")[0].startswith(
        "asked-for: could be created"
    )
    shell.run("topic", "create", "x", "--config", "nope=1", "--dry-run", code=1)
    assert "x: INVALID_CONFIG: Unknown topic config name: nope" in shell.error
    assert "asked-for" not in describe_topics(cluster).found
