"""A partition that this broker leads, and of which another one has a copy, or two."""

from typing import Any

from odradek.broker.replica.partition.replication import Replication
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.replicas import Replicas

US, OTHER = 1, 2


class LedWithAnother:
    """Broker 2 has what the test says it has; both are in sync."""

    def __init__(self, broker: Replicas, place: TopicPartition) -> None:
        if broker.manager.cluster is None:
            broker.manager.cluster = FakeCluster()
        self.partition = broker.manager.partition(place)
        self._epoch = self.partition.leadership.epoch
        self.elect(US)

    def elect(self, leader: int, *in_sync: int) -> None:
        """The controllers decide anew."""
        self._epoch += 1
        decided: Any = led_by(
            leader,
            *(in_sync or (US, OTHER)),
            replicas=(US, OTHER),
            leader_epoch=self._epoch,
            partition_epoch=self._epoch,
        )
        if leader == US:
            self.partition.make_leader(decided)
        else:
            self.partition.make_follower(decided)

    def copy(self) -> None:
        """The other one has everything now."""
        self.copy_to(self.partition.view.log_end_offset)

    def copy_to(self, offset: int) -> None:
        """It has everything below."""
        replication = self.partition.replication
        assert isinstance(replication, Replication)
        follower = replication.follower(OTHER, has_epoch=False)
        replication.note_fetch(follower, OffsetMetadata(offset), 0)
