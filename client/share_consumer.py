"""A member of a share group: it is handed records, and says what became of them.

Blocking, for one thread. Heartbeats go between the fetches: who works on records for
longer than its session has them handed to others, and joins again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.protocol.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    FencedMemberEpoch,
    KafkaError,
    MalformedRequest,
    NotLeaderOrFollower,
    UnknownMemberId,
    UnknownTopicId,
)
from odradek.protocol.messages.share_groups import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from odradek.protocol.record_batch import check_crc, scan
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid, to_text

from .errors import error_of, raise_for
from .share_session import ACCEPT, GAP, Outcome, ShareSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from odradek.protocol.messages.share_fetch import SharePartitionData
    from odradek.protocol.records import Record

    from .cluster import Cluster
    from .fetcher import FetchLimits
    from .metadata import Broker
    from .share_session import Place

_JOIN, _LEAVE = 0, -1
_RECORDS_MAX = 500
# Of a partition that is elsewhere now, or not yet there where we asked.
_PASSING = (FencedLeaderEpoch, NotLeaderOrFollower, UnknownTopicId)


class ShareConsumer:
    """Reads topics as a member of a share group."""

    def __init__(self, cluster: Cluster, group_id: str, topics: Sequence[str]) -> None:
        """Join nothing yet."""
        self.member_id = to_text(random_uuid())
        self._cluster = cluster
        self._group_id = group_id
        self._topics = sorted(set(topics))
        self._epoch = _JOIN
        self._beat_at_s = 0.0
        self._places: dict[Place, tuple[TopicPartition, int]] = {}  # and its leader
        self._sessions: dict[int, ShareSession] = {}
        self._handed: tuple[ShareSession, Place, int] | None = None

    @property
    def assignment(self) -> list[TopicPartition]:
        """What the member reads."""
        return sorted(place for place, _ in self._places.values())

    def fetch(
        self, limits: FetchLimits
    ) -> Iterator[Iterator[tuple[TopicPartition, Record]]]:
        """What each broker hands out now: records, one iterator for each partition.

        A record counts as accepted when the next one is asked for, or `accept` called.

        Raises:
            KafkaError: the group refuses the member, or a partition cannot be read.
        """
        self._stay()
        by_leader: dict[int, list[Place]] = {}
        for key, (_, leader) in self._places.items():
            by_leader.setdefault(leader, []).append(key)
        if not by_leader:
            time.sleep(limits.max_wait_ms / 1000)
        for node_id, keys in by_leader.items():
            session = self._sessions.get(node_id)
            if session is None:
                session = self._sessions[node_id] = ShareSession(
                    self._cluster, node_id, self._group_id, self.member_id
                )
            for key, data in session.fetch(keys, limits, _RECORDS_MAX):
                yield self._records(session, key, data)

    def leave(self) -> None:
        """Give back what is not accepted, and leave the group."""
        with suppress(KafkaError, OSError, MalformedRequest):
            for session in self._sessions.values():
                session.end()
        self._sessions.clear()
        if self._epoch != _JOIN:
            self._epoch = _LEAVE
            with suppress(KafkaError, OSError, MalformedRequest):
                self._cluster.at_coordinator(self._group_id, self._beat, timeout_s=0)
            self._epoch = _JOIN

    # Membership

    def _stay(self) -> None:
        if self._epoch != _JOIN and time.monotonic() < self._beat_at_s:
            return
        try:
            self._cluster.at_coordinator(self._group_id, self._beat)
        except (UnknownMemberId, FencedMemberEpoch):
            self._epoch = _JOIN
            self._cluster.at_coordinator(self._group_id, self._beat)

    def _beat(self, coordinator: Broker) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self.member_id,
            member_epoch=self._epoch,
            subscribed_topic_names=self._topics if self._epoch == _JOIN else None,
        )
        response = self._cluster.request(
            request, ShareGroupHeartbeatResponse, coordinator.node_id
        )
        raise_for(response.error_code, response.error_message)
        self._epoch = response.member_epoch
        self._beat_at_s = time.monotonic() + response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            self._take(
                {
                    (each.topic_id, partition)
                    for each in response.assignment.topic_partitions
                    for partition in each.partitions
                }
            )

    def _take(self, wanted: set[Place]) -> None:
        """Find out who leads what is to be read."""
        metadata = self._cluster.metadata(self._topics)
        self._places = {}
        for topic in metadata.topics.values():
            for partition in topic.leaders:
                if (topic.topic_id, partition) in wanted:
                    place = TopicPartition(topic.name, partition)
                    leader = metadata.leader_of(place)
                    self._places[topic.topic_id, partition] = place, leader

    # Records

    def accept(self) -> None:
        """The record that was handed out last is done with."""
        if self._handed is not None:
            session, key, offset = self._handed
            self._handed = None
            session.say(key, Outcome(offset, offset, ACCEPT))

    def _records(
        self, session: ShareSession, key: Place, data: SharePartitionData
    ) -> Iterator[tuple[TopicPartition, Record]]:
        known = self._places.get(key)
        if known is None:
            return  # it was given to others meanwhile, or is gone
        place, _ = known
        if data.error_code:
            error = error_of(data.error_code, data.error_message)
            if isinstance(error, _PASSING):
                self._take(set(self._places))
                return
            raise error
        for each in data.acquired_records:
            cursor = each.first_offset
            for record in _in_range(data, each.first_offset, each.last_offset):
                session.say(key, Outcome(cursor, record.offset - 1, GAP))
                self._handed = session, key, record.offset
                yield place, record
                self.accept()
                cursor = record.offset + 1
            session.say(key, Outcome(cursor, each.last_offset, GAP))


def _in_range(data: SharePartitionData, first: int, last: int) -> Iterator[Record]:
    """The records of clients from one offset to another.

    Raises:
        CorruptMessage, InvalidRecord, MessageTooLarge: a batch cannot be read.
    """
    view = memoryview(data.records)
    for position, header in scan(view):
        if header.is_control or header.last_offset < first or header.base_offset > last:
            continue
        batch = view[position : position + header.size]
        if not check_crc(batch, header):
            raise CorruptMessage(
                f"The batch at offset {header.base_offset} does not have the checksum "
                "that it says."
            )
        for record in iterate(batch):
            if first <= record.offset <= last:
                yield record
