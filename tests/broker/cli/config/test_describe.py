from odradek.client.cluster import Cluster
from odradek.client.topics import NewTopic, create_topic
from tests.broker.cli.conftest import Shell


def test_options_and_their_sources(cluster: Cluster, shell: Shell) -> None:
    topic = NewTopic("with-options", configs={"retention.bytes": "9000"})
    create_topic(cluster, topic)
    where = ("config", "describe", "topic", "with-options")
    assert ["retention.bytes", "9000", "DYNAMIC_TOPIC_CONFIG"] in [
        line.split() for line in shell.run(*where)
    ]
    (entry,) = shell.run_json(*where, "--option", "retention.bytes")
    assert entry["documentation"]
    assert {name: entry[name] for name in ("kind", "resource", "name", "value")} == {
        "kind": "topic",
        "resource": "with-options",
        "name": "retention.bytes",
        "value": "9000",
    }
    assert (entry["type"], entry["isDefault"], entry["isReadOnly"]) == (
        *("LONG", False),
        False,
    )
    assert entry["synonyms"][0]["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert len(shell.run(*where, "--all")) > 20
    (default,) = shell.run_json(*where, "--option", "flush.ms")
    assert default["isDefault"]


def test_a_broker_and_what_is_not_there(shell: Shell) -> None:
    assert any(
        line.startswith("log.retention.ms ")
        for line in shell.run("config", "describe", "broker", "1")
    )
    shell.run("config", "describe", "topic", "no-such-topic", code=1)
    assert shell.error.startswith(
        "odradek config describe: topic no-such-topic: UNKNOWN_TOPIC_OR_PARTITION: "
    )
