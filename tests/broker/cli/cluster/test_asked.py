from odradek.broker.cli.cluster.asked import ask_brokers
from odradek.broker.cli.cluster.view import FENCED, READY, BrokerView
from odradek.client.cluster import Cluster
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tests.fakes.scripted import scripted_cluster


def described(request: DescribeClusterRequest, _: int) -> DescribeClusterResponse:
    brokers = [
        DescribeClusterBroker(broker_id=2, host="b", port=9, is_fenced=True),
        DescribeClusterBroker(broker_id=1, host="a", port=9, rack="r"),
    ]
    wanted = request.include_fenced_brokers
    shown = [each for each in brokers if wanted or not each.is_fenced]
    return DescribeClusterResponse(cluster_id="c", brokers=shown)


def test_fenced_brokers_are_shown_where_that_can_be_asked() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(DescribeClusterRequest, described)
        script.leaders = {"t": [1, -1]}
        view = ask_brokers(cluster)
        assert view.brokers == [
            BrokerView(1, "a:9", "r", READY),
            BrokerView(2, "b:9", None, FENCED),
        ]
        assert [each.is_offline for each in view.partitions] == [False, True]
        # It does not know DescribeQuorum.
        assert view.quorum is None
        (note,) = view.notes
        assert note.startswith("the quorum is not shown: DescribeQuorumRequest: ")
    with scripted_cluster() as script, script.client() as cluster:
        script.script(DescribeClusterRequest, described)
        script.limit(DescribeClusterRequest, 1)
        assert [each.broker_id for each in ask_brokers(cluster).brokers] == [1]


def test_a_broker_of_ours(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("described-whole", 2))
    view = ask_brokers(cluster)
    assert [each.state for each in view.brokers] == [READY]
    found = [each for each in view.partitions if each.topic == "described-whole"]
    assert [(each.partition, each.is_under_replicated) for each in found] == [
        (0, False),
        (1, False),
    ]
    assert view.quorum is not None
    levels = {each.name: each.level for each in view.features}
    assert levels["metadata.version"] > 0
    assert not view.notes
