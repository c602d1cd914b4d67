from odradek.client.cluster import Cluster
from odradek.client.topics import describe_topics
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic


def test_each_topic_goes_or_says_why_not(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "going-1", 1)
    create_topic(cluster, "going-2", 1)
    given = ("going-1", "going-0", "going-2")
    assert shell.run("topic", "delete", *given, code=1) == [
        "going-1: deleted",
        "going-2: deleted",
    ]
    assert "going-0: UNKNOWN_TOPIC_OR_PARTITION: " in shell.error
    assert not set(given) & set(describe_topics(cluster).found)
    assert shell.run("topic", "delete", "going-1", "--if-exists") == [
        "going-1: is not there"
    ]
    (said,) = shell.run_json("topic", "delete", "going-1", code=1)
    assert (said["deleted"], said["error"][:7]) == (False, "UNKNOWN")
