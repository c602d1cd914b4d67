"""Coordinators are told of their partitions, and share groups of all."""

from types import SimpleNamespace
from typing import Any, cast

from odradek.broker.node.cluster_coordinators import ClusterCoordinators
from odradek.protocol.topic_partition import TopicPartition

GROUPS, STATES = "__consumer_offsets", "__share_group_state"


class World:
    """A broker that may have share groups."""

    def __init__(self, has_shares: bool) -> None:
        self.told: list[Any] = []
        self.groups = SimpleNamespace(runtime=self.runtime(GROUPS))
        self.transactions = SimpleNamespace(runtime=self.runtime("__transaction_state"))
        states = SimpleNamespace(runtime=self.runtime(STATES))
        self.share_states_in_use = states if has_shares else None
        self.sharing_in_use = self if has_shares else None
        self.coordinators = ClusterCoordinators(cast("Any", self))

    def runtime(self, topic: str) -> Any:
        return SimpleNamespace(
            topic=topic,
            elect=lambda number: self.told.append(("elect", topic, number)),
            resign=lambda number: self.told.append(("resign", topic, number)),
        )

    def forget_partition(self, topic_partition: TopicPartition) -> None:
        self.told.append(topic_partition)


def test_each_is_told_of_its_own() -> None:
    world = World(has_shares=True)
    world.coordinators.elect(TopicPartition(GROUPS, 3))
    world.coordinators.resign(TopicPartition(STATES, 4))
    world.coordinators.note_epoch(TopicPartition("t", 5))
    assert world.told == [("elect", GROUPS, 3), ("resign", STATES, 4), ("t", 5)]


def test_nobody_is_told_of_what_is_not_there() -> None:
    world = World(has_shares=False)
    world.coordinators.elect(TopicPartition(STATES, 4))
    world.coordinators.resign(TopicPartition(STATES, 4))
    world.coordinators.note_epoch(TopicPartition("t", 5))
    assert world.told == []
