"""What the controller has decided about the copies of a partition.

One broker has one copy, which is always in sync; the rules are Kafka's, for any
number of them.
"""

from __future__ import annotations

from typing import NamedTuple


class ReplicaState(NamedTuple):
    """The brokers that hold a partition, those in sync, and whether we lead it.

    ``partition_epoch`` rises with every decision. A follower does not know who is in
    sync: its ``in_sync`` is empty.
    """

    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    is_leader: bool = True
    partition_epoch: int = 0

    def has_enough_in_sync(self, min_insync_replicas: int) -> bool:
        """Whether acks=all can be promised.

        The option is capped by the number of copies: a topic with one copy can be
        written although the broker's default demands two (KIP-966).
        """
        return len(self.in_sync) >= min(min_insync_replicas, len(self.replicas))


def sole_replica(node_id: int) -> ReplicaState:
    """The only copy, held and led by ``node_id``."""
    return ReplicaState((node_id,), (node_id,))


class LeaderAndIsr(NamedTuple):
    """A decision of the controller: who leads, in which epoch, who is in sync.

    A leader proposes the next one. It says then which start of each broker in sync it
    means, by ``broker_epochs``; -1: any, or its own.
    """

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    partition_epoch: int = 0
    broker_epochs: tuple[int, ...] = ()
