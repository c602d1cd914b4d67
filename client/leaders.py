"""Asking the leaders of partitions, each of them about those that it leads."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaError,
    LeaderNotAvailable,
    NetworkException,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)

from .errors import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from odradek.protocol.topic_partition import TopicPartition

    from .cluster import Cluster

SETTLE_S = 3.0
# Of partitions whose leader may be another one soon.
PASSING = (
    LeaderNotAvailable,
    NotLeaderOrFollower,
    FencedLeaderEpoch,
    UnknownLeaderEpoch,
    NetworkException,
)

_Wish = TypeVar("_Wish")


class Answers(Protocol):
    """What leaders have said of partitions."""

    @property
    def found(self) -> Collection[TopicPartition]:
        """Those that are known."""

    @property
    def failed(self) -> dict[TopicPartition, KafkaError]:
        """Those of which nothing can be said, and why."""


class _Unsettled(Exception):
    """Partitions whose leader may be another one soon."""


def by_leader(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, _Wish],
    failed: dict[TopicPartition, KafkaError],
) -> dict[int, dict[TopicPartition, _Wish]]:
    """What is wanted of each broker; partitions without a leader go to ``failed``."""
    if not wanted:
        return {}
    metadata = cluster.metadata(sorted({place.topic for place in wanted}))
    leaders: dict[int, dict[TopicPartition, _Wish]] = {}
    for place, wish in wanted.items():
        try:
            leaders.setdefault(metadata.leader_of(place), {})[place] = wish
        except KafkaError as error:
            failed[place] = error
    return leaders


def _by_known_leader(
    cluster: Cluster, wanted: Mapping[TopicPartition, _Wish]
) -> dict[int, dict[TopicPartition, _Wish]]:
    leaders: dict[int, dict[TopicPartition, _Wish]] = {}
    for place, wish in wanted.items():
        leader = cluster.known_leader(place)
        if leader is not None:
            leaders.setdefault(leader, {})[place] = wish
    return leaders


def ask_leaders(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, _Wish],
    answers: Answers,
    ask: Callable[[int, Mapping[TopicPartition, _Wish]], None],
    settle_s: float,
    passing: tuple[type[KafkaError], ...] = PASSING,
) -> None:
    """Have ``ask`` ask each leader; where leaders change, again for ``settle_s``.

    Who led them when their topics were asked for last is asked first, and whoever leads
    them now about what that leaves open.

    ``ask`` puts each partition into what is found in ``answers``, or into what has
    failed. In the end what is known is known, and the rest has its error.
    """

    found, failed = answers.found, answers.failed
    known = _by_known_leader(cluster, wanted)

    def ask_each(leaders: Mapping[int, Mapping[TopicPartition, _Wish]]) -> None:
        for node_id, places in leaders.items():
            try:
                ask(node_id, places)
            except OSError as error:
                for place in places:
                    failed[place] = NetworkException(str(error))
                if isinstance(error, NoAnswer):
                    raise _Unsettled from None

    def ask_for_rest() -> None:
        nonlocal known
        if known:
            leaders, known = known, {}
            ask_each(leaders)
        rest = {place: wish for place, wish in wanted.items() if place not in found}
        failed.clear()
        ask_each(by_leader(cluster, rest, failed))
        if any(isinstance(error, passing) for error in failed.values()):
            raise _Unsettled

    with suppress(_Unsettled):
        cluster.retry.run(
            ask_for_rest, lambda error: isinstance(error, _Unsettled), settle_s
        )
