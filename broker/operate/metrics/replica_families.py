"""What is told of the copies of partitions: who leads, who is in sync, who lags behind.

In a cluster a partition is told of by the broker that leads it; while nobody does, by
those that have a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.replica.partition.followed import Followed
from odradek.broker.replica.partition.replication import Replication

from .exposition import Family, counter, gauge, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.cluster.standing import Standing
    from odradek.broker.cluster.view import Placed
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.requests.services import Services
    from odradek.protocol.topic_partition import TopicPartition

_NOBODY = -1


class ReplicaFamilies:
    """Samples of the partitions that were added; in order, once all were."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._node_id = services.node_id
        self._cluster = services.cluster
        self._known = services.replica_manager.asked_for
        self._held = self._led = self._offline = 0
        self._under_replicated = self._under_min = self._at_min = self._lag_max = 0
        self._troubled: dict[int, int] = {}
        self.leader = gauge("kafka_topic_partition_leader", "The node that leads it.")
        self.replicas = gauge("kafka_topic_partition_replicas", "Its replicas.")
        self.in_sync = gauge(
            "kafka_topic_partition_in_sync_replica", "Its replicas that are in sync."
        )
        self.preferred = gauge(
            "kafka_topic_partition_leader_is_preferred",
            "Whether the first of its replicas leads.",
        )
        self.under_replicated = gauge(
            "kafka_topic_partition_under_replicated_partition",
            "Whether replicas are not in sync.",
        )
        self.follower_lag = gauge(
            "odradek_follower_lag",
            "Offsets that another replica of a partition led here does not have yet.",
        )
        self.own_lag = gauge(
            "kafka_server_fetcherlagmetrics_consumerlag",
            "Offsets that all replicas in sync have, and this one does not yet.",
        )

    def add(self, topic: Topic, place: TopicPartition, label_text: str) -> bool:
        """A partition. Returns whether this broker tells of it, and others do not."""
        is_offline = place in self._services.metadata.offline
        if self._cluster is None:
            self._held += 1
            self._led += 1
            self._at_min += 1
            self._offline += is_offline
            self._add_places(self._node_id, 1, 1, True, label_text)
            return True
        placed = self._cluster.placed(topic.topic_id, place.partition)
        if placed is None or self._node_id not in placed.replicas:
            return False
        self._held += 1
        self._offline += is_offline
        known = self._known.get(place)
        leads = placed.leader == self._node_id
        if leads:
            self._add_led(placed, known)
        if known is not None and isinstance(known.replication, Replication | Followed):
            self._add_lags(place, known, self._cluster.standing)
        if not leads and placed.leader != _NOBODY:
            return False
        self._add_places(
            placed.leader,
            len(placed.replicas),
            len(placed.isr),
            placed.leader == placed.replicas[0],
            label_text,
        )
        return True

    def _add_places(
        self,
        leader: int,
        replica_count: int,
        in_sync_count: int,
        is_preferred: bool,
        label_text: str,
    ) -> None:
        self.leader.add(leader, label_text)
        self.replicas.add(replica_count, label_text)
        self.in_sync.add(in_sync_count, label_text)
        self.preferred.add(int(is_preferred), label_text)
        self.under_replicated.add(int(in_sync_count < replica_count), label_text)

    def _add_led(self, placed: Placed, known: Partition | None) -> None:
        """One that is not ``known`` has one replica, and nobody has asked for it."""
        count, replica_count = len(placed.isr), len(placed.replicas)
        wanted = 1 if known is None else known.config.min_insync_replicas
        needed = min(wanted, replica_count)
        self._led += 1
        self._under_replicated += count < replica_count
        self._under_min += count < needed
        self._at_min += count == needed

    def _add_lags(
        self, place: TopicPartition, known: Partition, standing: Standing
    ) -> None:
        replication, view = known.replication, known.view
        topic, partition = place
        if isinstance(replication, Replication):
            for follower in replication.followers.values():
                has = max(follower.end.offset, view.log_start_offset)
                self.follower_lag.add(
                    max(view.log_end_offset - has, 0),
                    labels(
                        follower=follower.broker_id, topic=topic, partition=partition
                    ),
                )
            return
        assert isinstance(replication, Followed)
        fetching = standing.fetchers.fetching(place)
        if fetching is None:
            return
        lag = max(replication.high_watermark - view.log_end_offset, 0)
        self._lag_max = max(self._lag_max, lag)
        self.own_lag.add(
            lag,
            labels(clientId=fetching.client_id, topic=topic, partition=partition),
        )
        is_troubled = standing.fetchers.trouble(place) is not None
        self._troubled.setdefault(fetching.leader, 0)
        self._troubled[fetching.leader] += is_troubled

    def __iter__(self) -> Iterator[Family]:
        for name, meaning, value in (
            ("partitioncount", "Partitions that it has a replica of.", self._held),
            ("leadercount", "Those it leads.", self._led),
            ("offlinereplicacount", "Those whose replica here is lost.", self._offline),
            (
                "underreplicatedpartitions",
                "Those it leads with replicas that are not in sync.",
                self._under_replicated,
            ),
            (
                "underminisrpartitioncount",
                "Those it leads with fewer replicas in sync than min.insync.replicas.",
                self._under_min,
            ),
            (
                "atminisrpartitioncount",
                "Those it leads with just as many; of one replica, too.",
                self._at_min,
            ),
        ):
            family = gauge(f"kafka_server_replicamanager_{name}", meaning)
            family.add(value)
            yield family
        for value in vars(self).values():
            if isinstance(value, Family):
                yield value
        yield from self._of_fetchers()
        yield from _of_changes(self._cluster.standing if self._cluster else None)

    def _of_fetchers(self) -> Iterator[Family]:
        lag = gauge(
            "kafka_server_replicafetchermanager_maxlag",
            "The most offsets that a replica here lags behind.",
        )
        if self._cluster is not None:
            lag.add(self._lag_max, labels(clientId="Replica"))
        yield lag
        troubled = gauge(
            "odradek_replica_troubled_partitions",
            "Partitions that do not follow their leader at the moment; see the log.",
        )
        for leader, count in sorted(self._troubled.items()):
            troubled.add(count, labels(leader=leader))
        yield troubled


def _of_changes(standing: Standing | None) -> Iterator[Family]:
    counts = None if standing is None else standing.isr_counts
    for name, meaning, count in (
        (
            "isrshrinks",
            "Replicas that lagged behind were taken out of those in sync.",
            counts and counts.shrink_count,
        ),
        (
            "isrexpands",
            "Replicas that had caught up were counted as in sync again.",
            counts and counts.expand_count,
        ),
        (
            "failedisrupdates",
            "Such changes that the controllers have refused.",
            counts and counts.failed_count,
        ),
    ):
        family = counter(f"kafka_server_replicamanager_{name}_total", meaning)
        family.add(count or 0)
        yield family
