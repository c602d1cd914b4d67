"""Fetch sessions: a client says once what it reads, then only what changes (KIP-227).

Answers name only the partitions that have something new. Each request of a session
carries the next epoch; one that does not begins anew. Sessions are a convenience: when
there is no room for another one its client is answered in full, with session id 0.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from odradek.protocol.errors import (
    ErrorCode,
    FetchSessionIdNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from odradek.broker.metadata.topics import Topics

    from .partition.fetch_reader import FetchResult, PartitionFetch
    from .waiting.follower_reads import FollowerReads

NO_SESSION = 0
FIRST_EPOCH = 1
EPOCH_MAX = (1 << 31) - 1
# A session that was not used for so long is given up for another one; and one that
# has lived for so long, for a larger one.
EVICTION_MS = 120_000
# Of all sessions together, some 40 MB.
PARTITIONS_MAX = 100_000


class FetchSession:
    """What one client reads, and what it was told last of each partition.

    ``epoch`` is that of the next request. ``wanted`` is in the order in which
    partitions are read: one that had records goes to the end, so that each has its
    turn. ``topic_ids`` is by the name of each topic, or by its id as text while that
    is of no topic known. ``reads`` is there for a follower.
    """

    __slots__ = (
        "_told",
        "by_id",
        "created_ms",
        "epoch",
        "is_privileged",
        "reads",
        "session_id",
        "topic_ids",
        "used_ms",
        "wanted",
    )

    def __init__(
        self,
        wanted: Mapping[TopicPartition, PartitionFetch],
        topic_ids: Mapping[str, bytes],
        now_ms: int,
        *,
        by_id: bool = False,
        is_privileged: bool = False,
    ) -> None:
        """``is_privileged``: of a follower, which goes before consumers."""
        self.session_id = NO_SESSION
        self.epoch = FIRST_EPOCH
        self.wanted = dict(wanted)
        self.topic_ids = dict(topic_ids)
        self.by_id = by_id
        self.is_privileged = is_privileged
        self.created_ms = self.used_ms = now_ms
        self._told: dict[TopicPartition, tuple[int, int]] = {}
        self.reads: FollowerReads | None = None
        if is_privileged:
            from .waiting.follower_reads import FollowerReads

            self.reads = FollowerReads(self.wanted)

    def update(
        self,
        wanted: Mapping[TopicPartition, PartitionFetch],
        topic_ids: Mapping[str, bytes],
        forgotten: Iterable[TopicPartition],
    ) -> None:
        """Take in a request: partitions to read from elsewhere, or not any more."""
        self.wanted.update(wanted)
        self.topic_ids.update(topic_ids)
        for each in forgotten:
            self.wanted.pop(each, None)
            self._told.pop(each, None)
        self.epoch = FIRST_EPOCH if self.epoch == EPOCH_MAX else self.epoch + 1

    def names(self) -> dict[bytes, str]:
        """What the session calls topics, by their ids."""
        return {topic_id: name for name, topic_id in self.topic_ids.items()}

    def to_read(self, topics: Topics) -> list[PartitionFetch]:
        """What is to be read now, in turn.

        Topics are known by id: one may have become known since, or have gone.
        """
        if self.by_id:
            for name, topic_id in list(self.topic_ids.items()):
                topic = topics.by_id(topic_id)
                if topic is None:
                    self._refuse(name, topics)
                elif topic.name != name:
                    self._rename(name, topic.name)
        return list(self.wanted.values())

    def _refuse(self, name: str, topics: Topics) -> None:
        """The topic has gone, or was made anew; or nobody knows it yet."""
        refusal = ErrorCode.UNKNOWN_TOPIC_ID
        if topics.get(name) is not None:
            refusal = ErrorCode.INCONSISTENT_TOPIC_ID
        for key, each in self.wanted.items():
            if key.topic == name:
                self.wanted[key] = each._replace(refusal=refusal)

    def _rename(self, old: str, new: str) -> None:
        self.topic_ids[new] = self.topic_ids.pop(old)
        for key, each in list(self.wanted.items()):
            if key.topic != old:
                continue
            del self.wanted[key]
            named = TopicPartition(new, key.partition)
            if named not in self.wanted:  # else the client has said it anew
                self.wanted[named] = each._replace(
                    topic_partition=named, refusal=ErrorCode.NONE
                )

    def select_changed(
        self,
        read: Sequence[PartitionFetch],
        results: Sequence[FetchResult],
        always: Container[TopicPartition] = (),
    ) -> list[tuple[TopicPartition, FetchResult]]:
        """The results that tell something new; from here on they are told.

        Of those that are ``always`` told there is more to say than a result has.
        """
        changed = []
        for wanted, result in zip(read, results, strict=True):
            key = wanted.topic_partition
            # After an error whatever comes is new.
            high_watermark = -1 if result.error_code else result.high_watermark
            told = high_watermark, result.log_start_offset
            has_records = bool(len(result.records))
            is_final = result.error_code or result.diverging_epoch is not None
            is_new = has_records or is_final or self._told.get(key) != told
            if is_new or key in always:
                changed.append((key, result))
            if key in self.wanted:
                self._told[key] = told
                if has_records:
                    self.wanted[key] = self.wanted.pop(key)
        return changed


class FetchSessions:
    """The sessions of this broker, of which there are ``slots`` at the most."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: dict[int, FetchSession] = {}  # the least recently used first
        self._partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def find(
        self, session_id: int, epoch: int, *, by_id: bool, now_ms: int
    ) -> FetchSession:
        """The session that a request goes on with.

        Raises:
            FetchSessionIdNotFound: there is none; it was given up, perhaps.
            InvalidFetchSessionEpoch: a request was lost, or came twice.
            FetchSessionTopicIdError: it calls topics otherwise than the session.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise FetchSessionIdNotFound
        if session.epoch != epoch:
            raise InvalidFetchSessionEpoch(f"{epoch}; expected {session.epoch}")
        if session.by_id != by_id:
            raise FetchSessionTopicIdError
        session.used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session

    def topics_of(self, session_id: int) -> set[str]:
        """The topics that a session reads; none, if there is no such session."""
        session = self._sessions.get(session_id)
        return set() if session is None else {each.topic for each in session.wanted}

    def wanted_of(self, session_id: int) -> list[PartitionFetch]:
        """What a session reads, and where; nothing, if there is no such session."""
        session = self._sessions.get(session_id)
        return [] if session is None else list(session.wanted.values())

    def update(
        self,
        session: FetchSession,
        wanted: Mapping[TopicPartition, PartitionFetch],
        topic_ids: Mapping[str, bytes],
        forgotten: Iterable[TopicPartition],
    ) -> None:
        """Take a request into its session, which ends when it reads nothing more."""
        before = len(session.wanted)
        session.update(wanted, topic_ids, forgotten)
        self._partition_count += len(session.wanted) - before
        if not session.wanted or self._partition_count > PARTITIONS_MAX:
            self.close(session.session_id)

    def open(self, session: FetchSession) -> bool:
        """Give the session an id and keep it, if there is room for it."""
        if not session.wanted or not self._has_room_for(session):
            return False
        while session.session_id in self._sessions or not session.session_id:
            session.session_id = random.randint(1, EPOCH_MAX)
        self._sessions[session.session_id] = session
        self._partition_count += len(session.wanted)
        return True

    def close(self, session_id: int) -> None:
        """Forget the session, if it is there."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partition_count -= len(session.wanted)
            session.session_id = NO_SESSION

    def _has_room_for(self, session: FetchSession) -> bool:
        size = len(session.wanted)
        while (
            len(self._sessions) >= self._slots
            or self._partition_count + size > PARTITIONS_MAX
        ):
            victim = self._victim(session)
            if victim is None:
                return False
            self.close(victim.session_id)
        return True

    def _victim(self, newcomer: FetchSession) -> FetchSession | None:
        """The session that ``newcomer`` may have the place of."""
        now_ms = newcomer.created_ms
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return None
        if now_ms - oldest.used_ms > EVICTION_MS:
            return oldest
        least = min(self._sessions.values(), key=_value)
        if newcomer.is_privileged and not least.is_privileged:
            return least
        is_old = now_ms - least.created_ms > EVICTION_MS
        return least if is_old and _value(least)[:2] <= _value(newcomer)[:2] else None


def _value(session: FetchSession) -> tuple[bool, int, int]:
    """What a session is worth: more, the more its client would have to say again."""
    return session.is_privileged, len(session.wanted), session.session_id
