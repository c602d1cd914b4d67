"""Other brokers and a controller, as far as a leader asks about them."""

from collections import defaultdict
from typing import Any
from weakref import WeakSet

from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.broker.replica.partition.replication import Replication

LAG_MAX_MS = 30_000


class FakeCluster:
    """Node 1 of a cluster whose controller answers when the test does."""

    node_id = 1
    lag_max_ms = LAG_MAX_MS

    def __init__(self) -> None:
        self.time_ms = 1_000_000
        self.dead: set[int] = set()
        self.ineligible: set[int] = set()
        self.broker_epochs: dict[int, int] = {}
        self.proposals: list[LeaderAndIsr] = []
        self.reads: defaultdict[int, WeakSet[Any]] = defaultdict(WeakSet)

    def now_ms(self) -> int:
        return self.time_ms

    def is_alive(self, broker_id: int) -> bool:
        return broker_id not in self.dead

    def may_be_in_sync(self, broker_id: int, broker_epoch: int) -> bool:
        current = self.broker_epochs.get(broker_id, -1)
        return broker_id not in self.ineligible and broker_epoch in (-1, current)

    def alter_in_sync(self, partition: Partition, proposal: LeaderAndIsr) -> None:
        self.proposals.append(proposal)

    def accept(self, partition: Partition) -> None:
        """The controller agrees with what was proposed last."""
        assert isinstance(partition.replication, Replication)
        proposal = self.proposals[-1]
        decided = proposal._replace(partition_epoch=proposal.partition_epoch + 1)
        partition.replication.on_answer(proposal, decided)


def led_by(leader: int, *in_sync: int, replicas: Any = (1, 2, 3), **more: int) -> Any:
    """A decision about a partition of three replicas; epochs are 0 unless given."""
    more.setdefault("leader_epoch", 0)
    return LeaderAndIsr(leader, replicas=replicas, in_sync=in_sync, **more)
