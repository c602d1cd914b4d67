"""A cluster as ``odradek cluster describe`` shows it, whoever was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.terminal.table import marked, printable, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from odradek.client.quorum import Quorum, QuorumReplica

_BROKERS = ("BROKER", "ADDRESS", "RACK", "STATE", "LEADS", "REPLICAS")
_NODES = ("NODE", "ROLE", "LOG-END", "LAG", "BEHIND-MS")
_FEATURES = ("FEATURE", "LEVEL", "POSSIBLE")
_PARTITIONS = ("TOPIC", "PARTITION", "LEADER", "REPLICAS", "IN-SYNC")
READY, FENCED, STOPPING, GONE = "ready", "fenced", "stopping", "gone"
_NOBODY = -1


class BrokerView(NamedTuple):
    """A broker; one that holds replicas and is not there has no address."""

    broker_id: int
    address: str | None
    rack: str | None
    state: str


class FeatureView(NamedTuple):
    """A feature: the level the cluster agreed on, and those its nodes can do."""

    name: str
    level: int
    possible: tuple[int, int] | None


class PartitionView(NamedTuple):
    """A partition, and who has it."""

    topic: str
    partition: int
    leader: int
    replicas: Sequence[int]
    in_sync: Sequence[int]

    @property
    def is_offline(self) -> bool:
        """Whether nobody leads it."""
        return self.leader == _NOBODY

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is not in sync."""
        return not set(self.replicas) <= set(self.in_sync)


class ClusterView(NamedTuple):
    """All that is shown. What who was asked does not know is None, or empty."""

    cluster_id: str | None
    brokers: Sequence[BrokerView]
    partitions: Sequence[PartitionView]
    features: Sequence[FeatureView]
    quorum: Quorum | None
    offset: int | None = None  # as of which offset of the metadata log
    voters: Sequence[int] = ()  # where there is no quorum to say how far they are
    notes: Sequence[str] = ()

    @property
    def has_trouble(self) -> bool:
        """Whether a broker is not ready, or a partition has not all its replicas."""
        return any(each.state != READY for each in self.brokers) or any(
            each.is_offline or each.is_under_replicated for each in self.partitions
        )

    def as_json(self) -> dict[str, Any]:
        """All of it as one object."""
        return {
            "clusterId": self.cluster_id,
            "metadataOffset": self.offset,
            "brokers": list(self._brokers()),
            "quorum": None if self.quorum is None else _quorum_json(self.quorum),
            "voters": list(self.voters),
            "features": [
                {
                    "feature": each.name,
                    "level": each.level,
                    "possible": list(each.possible) if each.possible else None,
                }
                for each in self.features
            ],
            "topics": len({each.topic for each in self.partitions}),
            "partitions": len(self.partitions),
            "underReplicated": [
                _partition_json(each)
                for each in self.partitions
                if each.is_under_replicated
            ],
            "offline": [
                _partition_json(each) for each in self.partitions if each.is_offline
            ],
            "notes": list(self.notes),
        }

    def text(self) -> Iterator[str]:
        """For people."""
        for note in self.notes:
            yield printable(note)
        as_of = "" if self.offset is None else f", as of offset {self.offset}"
        yield printable(f"cluster {self.cluster_id or 'of unknown id'}{as_of}")
        rows = [
            (
                each["broker"],
                each["address"],
                each["rack"],
                marked(each["state"], each["state"] != READY),
                each["leads"],
                each["replicas"],
            )
            for each in self._brokers()
        ]
        yield from table(_BROKERS, rows)
        yield ""
        yield from self._quorum_text()
        yield ""
        features = [
            (
                each.name,
                each.level,
                "{}-{}".format(*each.possible) if each.possible else None,
            )
            for each in self.features
        ]
        yield from table(_FEATURES, features)
        yield ""
        yield from self._partitions_text()

    def _brokers(self) -> Iterator[dict[str, Any]]:
        leads, holds = self._counts()
        for each in self.brokers:
            yield {
                "broker": each.broker_id,
                "address": each.address,
                "rack": each.rack,
                "state": each.state,
                "leads": leads.get(each.broker_id, 0),
                "replicas": holds.get(each.broker_id, 0),
            }

    def _counts(self) -> tuple[dict[int, int], dict[int, int]]:
        leads: dict[int, int] = {}
        holds: dict[int, int] = {}
        for each in self.partitions:
            leads[each.leader] = leads.get(each.leader, 0) + 1
            for replica in each.replicas:
                holds[replica] = holds.get(replica, 0) + 1
        return leads, holds

    def _quorum_text(self) -> Iterator[str]:
        quorum = self.quorum
        if quorum is None:
            voters = ", ".join(map(str, self.voters)) or "not known"
            yield f"voters of the quorum: {voters}"
            return
        yield (
            f"quorum: leader {quorum.leader_id}, epoch {quorum.leader_epoch},"
            f" high watermark {quorum.high_watermark}"
        )
        yield from table(_NODES, map(_replica_row, _replicas(quorum)))

    def _partitions_text(self) -> Iterator[str]:
        troubled = [
            each
            for each in self.partitions
            if each.is_offline or each.is_under_replicated
        ]
        topics = len({each.topic for each in self.partitions})
        yield (
            f"topics: {topics}, partitions: {len(self.partitions)},"
            f" under-replicated: {_count(troubled, 'is_under_replicated')},"
            f" offline: {_count(troubled, 'is_offline')}"
        )
        if troubled:
            yield from table(_PARTITIONS, map(_partition_row, troubled))


def _replicas(quorum: Quorum) -> Iterator[tuple[QuorumReplica, str]]:
    for each in quorum.voters:
        yield each, "leader" if each.node_id == quorum.leader_id else "voter"
    for each in quorum.observers:
        yield each, "observer"


def _replica_row(replica: tuple[QuorumReplica, str]) -> Sequence[object]:
    each, role = replica
    return each.node_id, role, each.end_offset, each.lag, each.behind_ms


def _quorum_json(quorum: Quorum) -> dict[str, Any]:
    return {
        "leader": quorum.leader_id,
        "leaderEpoch": quorum.leader_epoch,
        "highWatermark": quorum.high_watermark,
        "nodes": [
            {
                "node": each.node_id,
                "role": role,
                "logEnd": each.end_offset,
                "lag": each.lag,
                "behindMs": each.behind_ms,
            }
            for each, role in _replicas(quorum)
        ],
    }


def _partition_row(each: PartitionView) -> Sequence[object]:
    return (
        each.topic,
        each.partition,
        marked(None if each.is_offline else each.leader, each.is_offline),
        _numbers(each.replicas),
        marked(_numbers(each.in_sync), each.is_under_replicated),
    )


def _partition_json(each: PartitionView) -> dict[str, Any]:
    return {
        "topic": each.topic,
        "partition": each.partition,
        "leader": None if each.is_offline else each.leader,
        "replicas": list(each.replicas),
        "inSync": list(each.in_sync),
    }


def _count(partitions: Iterable[PartitionView], what: str) -> int:
    return sum(getattr(each, what) for each in partitions)


def _numbers(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "none"
