import pytest

from broker.cli.main import main
from client.cluster import Cluster
from client.records_deletion import delete_records
from client.topics import NewTopic, create_topic
from protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import produce


def test_partitions_offsets_and_options(cluster: Cluster, shell: Shell) -> None:
    config = {"retention.bytes": "100000"}
    create_topic(cluster, NewTopic("described", 2, configs=config))
    produce(cluster, "described", 1, [1, 2, 3])
    delete_records(cluster, {TopicPartition("described", 1): 1})
    title, option, *rest = shell.run("topic", "describe", "described")
    assert title.startswith("topic described: 2 partitions, id ")
    assert option == "  retention.bytes=100000"
    assert rest == [
        "PARTITION  LEADER  REPLICAS  IN-SYNC  START  END  RECORDS",
        "        0       1         1        1      0    0        0",
        "        1       1         1        1      1    3        2",
    ]
    (found,) = shell.run_json("topic", "describe", "described")
    assert found["configs"] == config
    assert found["partitions"][1] == {
        "partition": 1,
        "leader": 1,
        "replicas": [1],
        "inSync": [1],
        "offline": [],
        "start": 1,
        "end": 3,
    }
    all_of_them = shell.run_json("topic", "describe", "--all")
    assert found in all_of_them


def test_one_that_is_missing_is_no_reason_to_keep_the_others(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, NewTopic("kept", 1))
    lines = shell.run("topic", "describe", "kept", "not-kept", code=1)
    assert lines[0].startswith("topic kept: 1 partition, id ")
    assert shell.error.startswith(
        "odradek topic describe: not-kept: UNKNOWN_TOPIC_OR_PARTITION: "
    )


@pytest.mark.parametrize("given", [[], ["t", "--all"]])
def test_either_names_or_all(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topic", "describe", *given])
    assert ended.value.code == 2
    assert "say which topics, or --all" in capsys.readouterr().err
