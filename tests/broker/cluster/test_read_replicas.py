from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cluster.read_replicas import RackAwareReplicas
from odradek.broker.cluster.view import KnownBroker
from odradek.broker.replica.partition.replication import Replication
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.replicas import batch_of, replicas

US = 1
T0 = TopicPartition("t", 0)


class Brokers:
    """Which are let in, and in which rack each is."""

    def __init__(self, **racks: str | None) -> None:
        self.racks = {int(name[1:]): rack for name, rack in racks.items()}

    def broker(self, broker_id: int, listener_name: str) -> KnownBroker | None:
        if broker_id not in self.racks:
            return None
        return KnownBroker(broker_id, "host", 9092, self.racks[broker_id])


@pytest.mark.parametrize(
    ("racks", "rack", "offset", "preferred"),
    [
        ({"b2": "a", "b3": "b"}, "b", 0, 3),
        ({"b2": "a", "b3": "b"}, "c", 0, None),
        ({"b2": "b", "b3": "b"}, "b", 0, 3),  # it has more
        ({"b2": "b", "b3": "b"}, "b", 2, 3),  # and the other one not enough
        ({"b2": "b", "b3": "a"}, "b", 2, None),
        ({"b2": "a"}, "b", 0, None),  # 3 is away
        ({"b2": "us", "b3": "us"}, "us", 0, None),  # the leader is there
        ({"b2": "a", "b4": "b"}, "b", 0, None),  # 4 is not in sync
    ],
)
async def test_the_nearest_replica_that_has_it(
    tmp_path: Path, racks: Any, rack: str, offset: int, preferred: int | None
) -> None:
    async with replicas(tmp_path) as broker:
        broker.manager.cluster = FakeCluster()
        await broker.create_topic()
        partition = broker.manager.partition(T0)
        decided = led_by(US, 1, 2, 3, replicas=(1, 2, 3, 4), leader_epoch=1)
        partition.make_leader(decided)
        for _ in range(2):
            broker.manager.append_records({T0: batch_of(b"v")}, acks=1, timeout_ms=0)
        assert isinstance(partition.replication, Replication)
        for broker_id, end in ((2, 1), (3, 2), (4, 2)):
            follower = partition.replication.follower(broker_id, has_epoch=False)
            partition.replication.note_fetch(follower, OffsetMetadata(end), 0)
        found = RackAwareReplicas("us")
        brokers: Any = Brokers(**racks)
        asked = brokers, "PLAINTEXT", rack, partition, offset
        assert found.preferred(*asked) == preferred
        partition.make_follower(led_by(2, leader_epoch=2, partition_epoch=1))
        assert found.preferred(*asked) is None
