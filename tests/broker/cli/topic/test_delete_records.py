from odradek.client.cluster import Cluster
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic, produce


def test_the_oldest_records_go(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "shorter", 2)
    for number in 0, 1:
        produce(cluster, "shorter", number, [1, 2, 3])
    where = ("topic", "delete-records", "shorter:1", "--before")
    assert shell.run(*where, "2") == [
        "TOPIC    PARTITION  START",
        "shorter          1      2",
    ]
    assert shell.run_json("topic", "delete-records", "shorter", "--before", "end") == [
        {"topic": "shorter", "partition": 0, "start": 3},
        {"topic": "shorter", "partition": 1, "start": 3},
    ]
    assert shell.run(*where, "9", code=1) == []
    assert "shorter-1: OFFSET_OUT_OF_RANGE: " in shell.error
    shell.run("topic", "delete-records", "nowhere", "--before", "1", code=1)
    assert "nowhere" in shell.error
