from odradek.broker.cli.group.lag import GroupLag, PartitionLag, group_lag
from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.client.groups import GroupDescription
from odradek.client.metadata import Broker
from odradek.protocol.errors import LeaderNotAvailable
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import Member, create_topic

COORDINATOR = Broker(1, Address("h", 1))
GROUP = GroupDescription("g", "Empty", "classic", "", "", COORDINATOR, [])


def lag_of(committed: int | None, log_end: int | None) -> PartitionLag:
    error = LeaderNotAvailable() if log_end is None else None
    return PartitionLag(TopicPartition("t", 0), committed, log_end, None, error)


def test_lag_is_known_where_both_offsets_are() -> None:
    assert lag_of(3, 10).lag == 7
    assert lag_of(10, 10).lag == 0
    assert lag_of(None, 10).lag is None
    assert lag_of(3, None).lag is None


def test_a_commit_behind_the_end_makes_up_for_nothing() -> None:
    assert lag_of(12, 10).lag == -2
    lags = [lag_of(12, 10), lag_of(3, 10), lag_of(None, 5), lag_of(1, None)]
    assert GroupLag(GROUP, lags).total == 7


def test_an_end_that_is_not_known_has_its_reason() -> None:
    (partition,) = GroupLag(GROUP, [lag_of(1, None)]).as_json()["partitions"]
    assert partition["lag"] is None
    assert partition["error"] == str(LeaderNotAvailable())


def test_what_is_committed_or_assigned_is_there(cluster: Cluster) -> None:
    create_topic(cluster, "lagging", 3)
    commit_offsets(cluster, "lagging", {TopicPartition("lagging", 2): 0})
    member = Member(cluster, "lagging", "lagging", 1)
    lag = group_lag(cluster, "lagging")
    assert [
        (each.place.partition, each.committed, each.log_end, each.owner is not None)
        for each in lag.partitions
    ] == [(1, None, 0, True), (2, 0, 0, False)]
    assert group_lag(cluster, "lagging", with_offsets=False).partitions == ()
    member.leave()
