"""Fetchers for each broker that leads partitions of which this one is a copy.

A leader has one, or as many as ``num.replica.fetchers`` says; a partition is always
that of the same.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.quorum.image.image import NO_LEADER
from odradek.client.address import Address

from .followed_partition import FollowedPartition
from .leader_channel import LeaderChannel
from .replica_fetcher import ReplicaFetcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.partition.replica_state import LeaderAndIsr
    from odradek.client.connection import Connection
    from odradek.protocol.topic_partition import TopicPartition

    from .replica_fetcher import FollowerParts


class _Running(NamedTuple):
    fetcher: ReplicaFetcher
    task: asyncio.Task[None]


class Fetching(NamedTuple):
    """Whose records a fetcher asks for, and which of the fetchers of that leader it is.

    ``client_id`` is what Apache Kafka calls it.
    """

    leader: int
    number: int

    @property
    def client_id(self) -> str:
        """As metrics of Apache Kafka name it."""
        return f"ReplicaFetcherThread-{self.number}-{self.leader}"


class Fetchers:
    """Which partition follows whom; see `Leaders`."""

    def __init__(
        self,
        parts: FollowerParts,
        address_of: Callable[[int], Address | None],
        connect: Callable[[Address], Connection],
    ) -> None:
        """``address_of`` a broker is where others of the cluster reach it."""
        self._parts = parts
        self._address_of = address_of
        self._connect = connect
        self._is_stopped = False
        self._count = 1  # for each leader
        self._followed: dict[TopicPartition, FollowedPartition] = {}
        self._running: dict[tuple[int, int], _Running] = {}  # of a leader, by number

    def follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        """Have it follow the leader that was decided; -1: nobody leads."""
        place = partition.topic_partition
        known = self._followed.get(place)
        if (
            known is not None
            and known.partition is partition
            and known.leader == decided.leader
            and known.leader_epoch == decided.leader_epoch
        ):
            return
        followed = None
        if decided.leader != NO_LEADER and not self._is_stopped:
            followed = FollowedPartition(
                partition,
                decided.leader,
                self._parts.replicas,
                self._parts.clock,
                self._parts.settings,
            )
            self._fetcher(followed).add(followed)
        self._end(known, followed)

    def forget(self, topic_partition: TopicPartition) -> None:
        """It follows nobody any more."""
        self._end(self._followed.get(topic_partition), None)

    def trouble(self, topic_partition: TopicPartition) -> str | None:
        """Why a partition does not move at the moment."""
        known = self._followed.get(topic_partition)
        if known is None:
            return None
        return known.trouble or self._running[self._key(known)].fetcher.trouble

    def fetching(self, topic_partition: TopicPartition) -> Fetching | None:
        """Who asks for a partition; None: nobody does."""
        known = self._followed.get(topic_partition)
        return None if known is None else Fetching(*self._key(known))

    def spread(self, count: int) -> None:
        """Follow each leader on so many connections from now on."""
        if count == self._count:
            return
        followed = list(self._followed.values())
        for each in followed:
            self._release(each)
        self._count = count
        for each in followed:
            self._fetcher(each).add(each)

    async def stop(self) -> None:
        """Follow nobody any more; nothing is written when this returns."""
        self._is_stopped = True
        for each in self._followed.values():
            each.is_ended = True
        tasks = [each.task for each in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._followed.clear()
        self._running.clear()

    def _end(
        self, known: FollowedPartition | None, followed: FollowedPartition | None
    ) -> None:
        if followed is not None:
            self._followed[followed.partition.topic_partition] = followed
        if known is None:
            return
        known.is_ended = True
        place = known.partition.topic_partition
        if followed is None:
            del self._followed[place]
        self._release(known)

    def _release(self, known: FollowedPartition) -> None:
        """Let it be asked for no more by the fetcher that does."""
        key = self._key(known)
        running = self._running[key]
        running.fetcher.remove(known)
        if running.fetcher.is_idle:
            running.task.cancel()
            del self._running[key]

    def _fetcher(self, followed: FollowedPartition) -> ReplicaFetcher:
        leader, number = key = self._key(followed)
        running = self._running.get(key)
        if running is None:
            name = f"replicas of broker {leader}" + (f"-{number}" if number else "")
            channel = LeaderChannel(
                name,
                lambda: self._address_of(leader),
                self._connect,
                f"broker {leader} has no listener for other brokers",
            )
            fetcher = ReplicaFetcher(leader, channel, self._parts)
            task = asyncio.get_running_loop().create_task(fetcher.run(), name=name)
            running = self._running[key] = _Running(fetcher, task)
        return running.fetcher

    def _key(self, followed: FollowedPartition) -> tuple[int, int]:
        topic, partition = followed.partition.topic_partition
        number = zlib.crc32(topic.encode()) + partition
        return followed.leader, number % self._count


def address_in(
    image: MetadataImage, broker_id: int, listener_name: str
) -> Address | None:
    """Where a broker listens; None: nobody knows."""
    broker = image.brokers.get(broker_id)
    for each in () if broker is None else broker.endpoints:
        if each.name == listener_name:
            return Address(each.host, each.port)
    return None
