from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.cluster.fetchers.fetchers import Fetching
from odradek.broker.cluster.peers import IsrCounts
from odradek.broker.cluster.view import Placed
from odradek.broker.operate.metrics.exposition import exposition
from odradek.broker.operate.metrics.partition_families import PartitionFamilies
from odradek.broker.replica.partition.followed import Followed
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.operate.metrics.served import Samples, read
from tests.fakes.led_with_another import OTHER, US, LedWithAnother
from tests.fakes.replicas import Replicas, batch_of, replicas

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
_MANAGER = "kafka_server_replicamanager_"


class World:
    """A broker of a cluster: where its partitions are the test says."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.placed: dict[int, Placed] = {}
        self.trouble: dict[TopicPartition, str] = {}
        fetchers = SimpleNamespace(
            fetching=lambda _: Fetching(OTHER, 0), trouble=self.trouble.get
        )
        self.counts = IsrCounts()
        broker.services.cluster = SimpleNamespace(
            placed=lambda _, number: self.placed.get(number),
            standing=SimpleNamespace(fetchers=fetchers, isr_counts=self.counts),
        )

    def place(self, number: int, leader: int, *isr: int, replicas: Any) -> None:
        self.placed[number] = Placed(leader, 1, list(replicas), list(isr), [], [], [])

    def told(self) -> Samples:
        made = PartitionFamilies(self.broker.services)
        for topic in self.broker.topics:
            for _ in made.add(topic):
                pass
        return read("".join(map(exposition, made)))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(partitions=3)
        yield World(broker)


async def test_a_partition_is_told_of_by_who_leads_it(world: World) -> None:
    world.place(0, US, US, replicas=(OTHER, US))
    world.place(1, OTHER, OTHER, US, replicas=(OTHER, US))
    world.place(2, OTHER, OTHER, replicas=(OTHER,))
    found = world.told()
    at = {("t", "0"): 1.0}
    assert found["kafka_topic_partition_leader"] == {("t", "0"): US}
    assert found["kafka_topic_partition_replicas"] == {("t", "0"): 2}
    assert found["kafka_topic_partition_in_sync_replica"] == at
    assert found["kafka_topic_partition_under_replicated_partition"] == at
    assert found["kafka_topic_partition_leader_is_preferred"] == {("t", "0"): 0}
    assert set(found["kafka_topic_partition_current_offset"]) == set(at)
    counts = {
        name[len(_MANAGER) :]: found[name][()] for name in found if _MANAGER in name
    }
    assert counts["partitioncount"] == 2
    assert counts["leadercount"] == 1
    assert counts["underreplicatedpartitions"] == 1
    assert counts["underminisrpartitioncount"] == 0
    assert counts["atminisrpartitioncount"] == 1


async def test_without_a_leader_by_who_has_a_copy(world: World) -> None:
    world.place(0, -1, replicas=(US, OTHER))
    world.place(1, -1, replicas=(OTHER,))
    found = world.told()
    assert found["kafka_topic_partition_leader"] == {("t", "0"): -1}
    assert found["kafka_topic_partition_in_sync_replica"] == {("t", "0"): 0}
    assert found[f"{_MANAGER}leadercount"][()] == 0


async def test_fewer_in_sync_than_wanted(world: World) -> None:
    broker = world.broker
    await broker.topics.alter_options("t", lambda _: {"min.insync.replicas": "2"})
    LedWithAnother(broker, T0).elect(US, US)
    world.place(0, US, US, replicas=(US, OTHER))
    found = world.told()
    assert found[f"{_MANAGER}underminisrpartitioncount"][()] == 1
    assert found[f"{_MANAGER}atminisrpartitioncount"][()] == 0


async def test_how_far_followers_are(world: World) -> None:
    broker = world.broker
    led = LedWithAnother(broker, T0)
    broker.manager.append_records({T0: batch_of(b"a", b"b")}, acks=1, timeout_ms=0)
    led.copy_to(1)
    world.place(0, US, US, OTHER, replicas=(US, OTHER))
    assert world.told()["odradek_follower_lag"] == {(str(OTHER), "t", "0"): 1}


async def test_how_far_it_lags_behind_itself(world: World) -> None:
    followed = LedWithAnother(world.broker, T1)
    followed.elect(OTHER)
    replication = followed.partition.replication
    assert isinstance(replication, Followed)
    replication.high_watermark = 7
    world.place(1, OTHER, OTHER, US, replicas=(OTHER, US))
    world.trouble[T1] = "the leader answers: no"
    world.counts.shrink_count = 2
    found = world.told()
    lag = "kafka_server_fetcherlagmetrics_consumerlag"
    assert found[lag] == {("ReplicaFetcherThread-0-2", "t", "1"): 7}
    assert found["kafka_server_replicafetchermanager_maxlag"] == {("Replica",): 7}
    assert found["odradek_replica_troubled_partitions"] == {(str(OTHER),): 1}
    assert found[f"{_MANAGER}isrshrinks_total"][()] == 2
