from odradek.broker.cli.cluster.view import (
    FENCED,
    GONE,
    READY,
    BrokerView,
    ClusterView,
    FeatureView,
    PartitionView,
)
from odradek.client.quorum import Quorum, QuorumReplica

WELL = ClusterView(
    "abc",
    [BrokerView(1, "a:9092", "r1", READY), BrokerView(2, "b:9092", None, READY)],
    [PartitionView("t", 0, 1, (1, 2), (2, 1)), PartitionView("t", 1, 2, (2,), (2,))],
    [FeatureView("f", 2, (0, 3)), FeatureView("g", 1, None)],
    Quorum(8, 3, 40, [QuorumReplica(8, 40, 0, 0)], [QuorumReplica(1, 38, 2, 500)]),
)


def test_a_cluster_that_is_well() -> None:
    assert list(WELL.text()) == [
        "cluster abc",
        "BROKER  ADDRESS  RACK  STATE  LEADS  REPLICAS",
        "     1  a:9092   r1    ready      1         1",
        "     2  b:9092   -     ready      1         2",
        "",
        "quorum: leader 8, epoch 3, high watermark 40",
        "NODE  ROLE      LOG-END  LAG  BEHIND-MS",
        "   8  leader         40    0          0",
        "   1  observer       38    2        500",
        "",
        "FEATURE  LEVEL  POSSIBLE",
        "f            2  0-3",
        "g            1  -",
        "",
        "topics: 1, partitions: 2, under-replicated: 0, offline: 0",
    ]
    assert not WELL.has_trouble
    shown = WELL.as_json()
    assert shown["topics"] == 1
    assert shown["underReplicated"] == shown["offline"] == []
    assert shown["quorum"]["nodes"][1] == {
        "node": 1,
        "role": "observer",
        "logEnd": 38,
        "lag": 2,
        "behindMs": 500,
    }
    assert shown["features"][0] == {"feature": "f", "level": 2, "possible": [0, 3]}


def test_partitions_in_trouble_are_named() -> None:
    view = WELL._replace(
        partitions=[
            PartitionView("t", 0, 1, (1, 2), (1,)),
            PartitionView("t", 1, -1, (2,), ()),
            PartitionView("u", 0, 1, (1,), (1,)),
        ],
        quorum=None,
        voters=[8, 9],
        offset=7,
        notes=["torn"],
    )
    lines = list(view.text())
    assert lines[:2] == ["torn", "cluster abc, as of offset 7"]
    assert "voters of the quorum: 8, 9" in lines
    assert lines[-4:] == [
        "topics: 2, partitions: 3, under-replicated: 2, offline: 1",
        "TOPIC  PARTITION  LEADER  REPLICAS  IN-SYNC",
        "t              0       1  1,2       1",
        "t              1       -  2         none",
    ]
    assert view.has_trouble
    shown = view.as_json()
    assert [each["partition"] for each in shown["underReplicated"]] == [0, 1]
    assert shown["offline"] == [
        {"topic": "t", "partition": 1, "leader": None, "replicas": [2], "inSync": []}
    ]
    assert shown["quorum"] is None


def test_a_broker_that_is_not_ready_is_trouble() -> None:
    for state in (FENCED, GONE):
        assert WELL._replace(brokers=[BrokerView(1, None, None, state)]).has_trouble
    unknown = WELL._replace(cluster_id=None, quorum=None)
    assert "cluster of unknown id" in list(unknown.text())
    assert "voters of the quorum: not known" in list(unknown.text())
