"""Share sessions: a member says once what it reads, then only what changes.

A session is found by group and member, and each request of it carries the next epoch;
one that does not has to begin anew. It ends with the connection on which it began, as
nobody else would say that its member is gone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import (
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.broker.coordinator.share.state import ShareKey

NEW_EPOCH, FINAL_EPOCH = 0, -1
FIRST_EPOCH = 1
EPOCH_MAX = (1 << 31) - 1
# Of all sessions together, some 30 MB.
PARTITIONS_MAX = 100_000


class MemberKey(NamedTuple):
    """Whose session it is."""

    group_id: str
    member_id: str


class ShareSession:
    """What one member reads. ``epoch`` is that of the next request."""

    __slots__ = ("_unanswered", "connection", "epoch", "key", "partitions")

    def __init__(
        self, key: MemberKey, partitions: Iterable[ShareKey], connection: object
    ) -> None:
        self.key = key
        self.connection = connection
        self.epoch = FIRST_EPOCH
        self.partitions: dict[ShareKey, None] = dict.fromkeys(partitions)
        self._unanswered = set(self.partitions)

    def update(self, added: Iterable[ShareKey], forgotten: Iterable[ShareKey]) -> None:
        """Take in a request: partitions to read as well, or not any more."""
        for key in added:
            if key not in self.partitions:
                self.partitions[key] = None
                self._unanswered.add(key)
        for key in forgotten:
            self.partitions.pop(key, None)
            self._unanswered.discard(key)

    def begin_next(self) -> None:
        """The next request has the next epoch."""
        self.epoch = FIRST_EPOCH if self.epoch == EPOCH_MAX else self.epoch + 1

    def in_turn(self, epoch: int) -> list[ShareKey]:
        """What is read now: with each epoch another partition goes first."""
        keys = list(self.partitions)
        if not keys:
            return keys
        first = epoch % len(keys)
        return keys[first:] + keys[:first]

    def takes_answer(self, key: ShareKey) -> bool:
        """Whether this is the first answer about a partition; it is given now."""
        if key not in self._unanswered:
            return False
        self._unanswered.discard(key)
        return True


class ShareSessions:
    """The sessions of this broker, of which there are ``limit`` at the most."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._sessions: dict[MemberKey, ShareSession] = {}
        self._by_group: dict[str, int] = {}
        self._readers: Counter[ShareKey] = Counter()
        self._partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[ShareSession]:
        return iter(list(self._sessions.values()))

    @property
    def partition_count(self) -> int:
        """How many partitions all of them read, together."""
        return self._partition_count

    def count_of(self, group_id: str) -> int:
        """How many sessions a group has."""
        return self._by_group.get(group_id, 0)

    def is_read(self, key: ShareKey) -> bool:
        """Whether any session reads a share partition."""
        return key in self._readers

    def get(self, key: MemberKey) -> ShareSession | None:
        """The session of a member, if there is one."""
        return self._sessions.get(key)

    def find(self, key: MemberKey, epoch: int) -> ShareSession:
        """The session that a request goes on with, or ends.

        Raises:
            ShareSessionNotFound: there is none.
            InvalidShareSessionEpoch: a request was lost, or came twice.
        """
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFound
        if epoch not in (session.epoch, FINAL_EPOCH):
            raise InvalidShareSessionEpoch(
                f"The epoch is {epoch}, and {session.epoch} was expected."
            )
        return session

    def open(self, session: ShareSession) -> None:
        """Keep a session, in place of the one that its member had.

        Raises:
            ShareSessionLimitReached: there is no room for another one. Then the member
                still has the one that it had, whose end frees what was given to it.
        """
        before = self._sessions.get(session.key)
        session_count = len(self._sessions)
        count = self._partition_count + len(session.partitions)
        if before is not None:
            session_count -= 1
            count -= len(before.partitions)
        if session_count >= self.limit or count > PARTITIONS_MAX:
            raise ShareSessionLimitReached
        if before is not None:
            self.close(before)
        group_id = session.key.group_id
        self._sessions[session.key] = session
        self._by_group[group_id] = self.count_of(group_id) + 1
        self._readers.update(session.partitions.keys())
        self._partition_count = count

    def update(
        self,
        session: ShareSession,
        added: Iterable[ShareKey],
        forgotten: Iterable[ShareKey],
    ) -> None:
        """Take a request into its session.

        Raises:
            ShareSessionLimitReached: all of them read too many partitions then.
        """
        before = session.partitions.keys()
        new = set(added) - before
        if self._partition_count + len(new) > PARTITIONS_MAX:
            raise ShareSessionLimitReached
        gone = before & set(forgotten)
        count = len(before)
        session.update(new and added, forgotten)
        self._readers.update(new & session.partitions.keys())
        self._forget_reader(gone)
        self._partition_count += len(session.partitions) - count

    def close(self, session: ShareSession) -> bool:
        """Forget a session. Whether it was there."""
        if self._sessions.get(session.key) is not session:
            return False
        del self._sessions[session.key]
        group_id = session.key.group_id
        self._by_group[group_id] -= 1
        if not self._by_group[group_id]:
            del self._by_group[group_id]
        self._forget_reader(session.partitions)
        self._partition_count -= len(session.partitions)
        return True

    def _forget_reader(self, keys: Iterable[ShareKey]) -> None:
        for key in keys:
            self._readers[key] -= 1
            if not self._readers[key]:
                del self._readers[key]

    def of_connection(self, connection: object) -> list[ShareSession]:
        """Those that began on a connection."""
        return [each for each in self if each.connection is connection]
