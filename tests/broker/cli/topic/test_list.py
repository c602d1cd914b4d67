import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic


def test_topics_are_named(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "listed-b", 2)
    create_topic(cluster, "listed-a", 1)
    assert shell.run("topic", "list", "--pattern", "listed-.") == [
        "TOPIC     PARTITIONS  REPLICAS",
        "listed-a           1         1",
        "listed-b           2         1",
    ]
    (found,) = shell.run_json("topic", "list", "--pattern", ".*d-b")
    assert found.pop("topicId")
    assert found == {
        "topic": "listed-b",
        "internal": False,
        "partitions": 2,
        "replicationFactor": 1,
    }
    assert shell.run("topic", "list", "--pattern", "listed-") == ["no topics"]


def test_internal_topics_only_when_asked_for(cluster: Cluster, shell: Shell) -> None:
    cluster.coordinator("some-group")
    name = "__consumer_offsets"
    assert name not in {each["topic"] for each in shell.run_json("topic", "list")}
    found = {
        each["topic"]: each for each in shell.run_json("topic", "list", "--internal")
    }
    assert found[name]["internal"]


def test_no_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topic", "list", "--pattern", "("])
    assert ended.value.code == 2
    assert "'(' is not a regular expression" in capsys.readouterr().err
