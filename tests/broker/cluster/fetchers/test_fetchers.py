from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.cluster.fetchers.fetchers import Fetchers, address_in
from odradek.broker.cluster.fetchers.replica_fetcher import FollowerParts
from odradek.broker.cluster.throttles import make_throttles
from odradek.broker.quorum.image.image import EMPTY, BrokerImage, Endpoint
from odradek.broker.replica.decisions import Decisions
from odradek.broker.replica.follower_replicas import FollowerReplicas
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.client.address import Address
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cluster.fetchers.rig import T0, US, led_by
from tests.fakes.broker import until
from tests.fakes.cluster import FakeCluster
from tests.fakes.replicas import Replicas, replicas

T1 = TopicPartition("t", 1)


class World:
    """This broker, and others that nobody reaches."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.decided: dict[TopicPartition, LeaderAndIsr] = {}
        self.fetchers = Fetchers(
            FollowerParts(
                US,
                FollowerReplicas(
                    broker.manager, broker.logs, broker.topics, broker.clock
                ),
                lambda: 77,
                broker.clock,
                broker.services.bugs,
                fetch_settings(broker.config),
                make_throttles(US, broker.topics, broker.clock).follower,
            ),
            lambda _: None,
            self.connect,
        )
        broker.manager.cluster = FakeCluster()
        self.decisions = Decisions(US, broker.manager, self.decided.get)
        self.decisions.leaders = self.fetchers

    def connect(self, address: Address) -> Any:
        raise AssertionError(address)

    def decide(self, place: TopicPartition, decided: LeaderAndIsr) -> None:
        self.decided[place] = decided
        self.decisions.decide(place, decided)

    @property
    def followed(self) -> dict[int, list[int]]:
        """The partitions that follow each leader."""
        return {
            leader: sorted(place for _, place in running.fetcher._followed)
            for (leader, _), running in self.fetchers._running.items()
        }


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with replicas(tmp_path) as broker:
        made = World(broker)
        await broker.create_topic(partitions=2)
        try:
            yield made
        finally:
            await made.fetchers.stop()


async def test_each_leader_has_one_fetcher(world: World) -> None:
    world.decide(T0, led_by(2, 1, 2, US))
    world.decide(T1, led_by(2, 1, 2, US))
    assert world.followed == {2: [0, 1]}
    found = world.fetchers.fetching(T0)
    assert found is not None
    assert found.client_id == "ReplicaFetcherThread-0-2"
    assert world.fetchers.fetching(TopicPartition("t", 2)) is None
    world.decide(T1, led_by(3, 2, 3, US))
    assert world.followed == {2: [0], 3: [1]}


async def test_a_leader_may_have_several(world: World) -> None:
    world.fetchers.spread(2)
    world.decide(T0, led_by(2, 1, 2, US))
    world.decide(T1, led_by(2, 1, 2, US))
    assert sorted(world.fetchers._running) == [(2, 0), (2, 1)]
    followed = world.fetchers._followed[T0]
    world.fetchers.spread(1)
    assert list(world.fetchers._running) == [(2, 0)]
    assert world.fetchers._followed[T0] is followed
    assert not followed.is_ended


async def test_who_leads_nothing_any_more_is_asked_no_more(world: World) -> None:
    world.decide(T0, led_by(2, 1, 2, US))
    world.decide(T0, led_by(US, 2, 2, US))
    assert world.followed == {}
    world.decide(T0, led_by(2, 3, 2, US))
    world.decide(T0, led_by(-1, 4, 2, US))  # nobody leads
    assert world.followed == {}
    world.decide(T0, led_by(2, 5, 2, US))
    world.decide(T0, led_by(2, 6, 2, 3))  # we are no replica any more
    assert world.followed == {}
    assert world.broker.manager.partition(T0).leadership.is_elsewhere


async def test_the_same_leader_in_the_same_epoch_is_followed_on(world: World) -> None:
    world.decide(T0, led_by(2, 1, 2, US))
    first = world.fetchers._followed[T0]
    world.decide(T0, led_by(2, 1, 2, US)._replace(in_sync=(2, US), partition_epoch=2))
    assert world.fetchers._followed[T0] is first
    world.decide(T0, led_by(2, 3, 2, US))
    assert first.is_ended
    assert world.fetchers._followed[T0].leader_epoch == 3


async def test_a_leader_without_an_address_is_said(world: World) -> None:
    world.decide(T0, led_by(2, 1, 2, US))
    await until(lambda: world.fetchers.trouble(T0))
    assert world.fetchers.trouble(T0) == "broker 2 has no listener for other brokers"
    assert world.fetchers.trouble(T1) is None


async def test_after_the_stop_nobody_is_followed(world: World) -> None:
    world.decide(T0, led_by(2, 1, 2, US))
    await world.fetchers.stop()
    world.decide(T0, led_by(3, 2, 3, US))
    assert world.followed == {}


def test_where_a_broker_listens_for_others() -> None:
    endpoints = Endpoint("A", "a", 1, 0), Endpoint("B", "b", 2, 0)
    image = EMPTY._replace(brokers={2: BrokerImage(2, 5, b"", endpoints)})
    assert address_in(image, 2, "B") == Address("b", 2)
    assert address_in(image, 2, "C") is None
    assert address_in(image, 3, "B") is None
