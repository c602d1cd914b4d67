"""A member of a consumer group, as the classic protocol has it.

Join, read what is assigned, commit; join again when the group changes. Everything is
given up before each rebalance, which every assignor allows.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from odradek.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from odradek.protocol.errors import (
    IllegalGeneration,
    KafkaError,
    MalformedRequest,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
    UnstableOffsetCommit,
)
from odradek.protocol.messages.groups import (
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.offsets import OffsetCommitResponse
from odradek.protocol.topic_partition import TopicPartition

from .errors import NoAnswer, Unreachable, raise_for
from .group_assignors import ASSIGNORS, Subscriber
from .group_offsets import (
    LAST_VERSION_WITH_NAMES,
    commit_request,
    committed_offsets,
    refused_offsets,
)
from .heartbeats import Heartbeats, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from odradek.protocol.primitives import Buffer
    from odradek.protocol.schema import Request, Response

    from .cluster import Cluster
    from .connection import Connection
    from .group_offsets import CommittedOffset
    from .metadata import Broker

_Response = TypeVar("_Response", bound="Response")

SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 60_000
HEARTBEAT_S = 3.0
# A rebalance takes as long as the slowest member may: 5 minutes for most clients.
_JOIN_TIMEOUT_S = 330.0
_LEAVE_TIMEOUT_S = 5.0
_PAUSE_S = 0.1
_LOOK_S = 30.0
NO_GENERATION = -1
# The member's place in its generation is gone, and what it had to read with it.
LOST = (IllegalGeneration, UnknownMemberId, RebalanceInProgress)


class GroupMember:
    """One member; blocking, for one thread. `leave` ends it."""

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        topics: Sequence[str],
        *,
        heartbeat_s: float = HEARTBEAT_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is asked before `join`."""
        self.member_id = ""
        self.generation_id = NO_GENERATION
        self._cluster = cluster
        self._group_id = group_id
        self._topics = list(topics)
        self._monotonic = monotonic
        self._node_id = -1
        self._connection: Connection | None = None
        self._led: dict[str, int] | None = None  # the leader's: counts of partitions
        self._looked_s = 0.0
        self._beats = Heartbeats(cluster.open_connection, heartbeat_s)

    # Joining

    def join(self) -> list[TopicPartition]:
        """The partitions to read now. What was read before is to be committed first.

        It waits until all members have come, which may take minutes.

        Raises:
            KafkaError: the group does not take this member.
        """
        self._beats.beat_for(None)
        while True:
            try:
                places = self._sync(self._joined())
            except RebalanceInProgress:
                time.sleep(_PAUSE_S)
            except (UnknownMemberId, IllegalGeneration):
                self.member_id = ""
                time.sleep(_PAUSE_S)
            else:
                self._beats.beat_for(self._session())
                return places

    def _joined(self) -> JoinGroupResponse:
        metadata = encode_subscription(self._topics)
        request = JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name in ASSIGNORS
            ],
        )
        joined = self._ask(request, JoinGroupResponse, _check_join, _JOIN_TIMEOUT_S)
        if joined.error_code == MemberIdRequired.code:
            self.member_id = request.member_id = joined.member_id
            joined = self._ask(request, JoinGroupResponse, _check, _JOIN_TIMEOUT_S)
        self.member_id = joined.member_id
        self.generation_id = joined.generation_id
        return joined

    def _sync(self, joined: JoinGroupResponse) -> list[TopicPartition]:
        self._led = None
        assignments: list[SyncGroupRequestAssignment] = []
        if joined.leader == self.member_id and not joined.skip_assignment:
            assignments = self._assignments(joined)
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=assignments,
        )
        synced = self._ask(request, SyncGroupResponse, _check, _JOIN_TIMEOUT_S)
        return sorted(decode_assignment(synced.assignment))

    def _assignments(
        self, joined: JoinGroupResponse
    ) -> list[SyncGroupRequestAssignment]:
        members = [
            _subscriber(each.member_id, each.metadata) for each in joined.members
        ]
        wanted = frozenset[str]().union(*(each.topics for each in members))
        self._led = self._partition_counts(wanted)
        self._looked_s = self._monotonic()
        given = ASSIGNORS[joined.protocol_name or ""](members, self._led)
        return [
            SyncGroupRequestAssignment(
                member_id=member_id, assignment=encode_assignment(places)
            )
            for member_id, places in given.items()
        ]

    def _partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """0 for a topic that is not there."""
        found = self._cluster.metadata(sorted(topics)).topics
        return {
            name: len(found[name].leaders) if name in found else 0 for name in topics
        }

    # Staying

    def is_settled(self) -> bool:
        """Whether the member may read on; else it has to commit, and join again.

        Raises:
            KafkaError, OSError: the group cannot be asked any more.
        """
        trouble = self._beats.trouble()
        if trouble is None:
            return not self._is_outdated()
        try:
            # A lost connection, another coordinator: this thread knows how to find it.
            session = self._session()
            self._ask(session.request(), HeartbeatResponse, _check)
        except LOST:
            return False
        self._beats.beat_for(self._session())
        return True

    def _is_outdated(self) -> bool:
        """Whether this member leads, and the topics have other partitions by now."""
        now_s = self._monotonic()
        if self._led is None or now_s < self._looked_s + _LOOK_S:
            return False
        self._looked_s = now_s
        try:
            return self._led != self._partition_counts(self._led)
        except (KafkaError, OSError):
            return False  # for who reads on to find out

    def _session(self) -> Session:
        return Session(
            self._node_id, self._group_id, self.generation_id, self.member_id
        )

    def committed(self) -> dict[TopicPartition, CommittedOffset]:
        """Where the group goes on, once that is certain.

        Raises:
            KafkaError: the coordinator refuses.
        """
        return self._cluster.retry.run(
            lambda: committed_offsets(self._cluster, self._group_id, stable=True),
            lambda error: isinstance(error, UnstableOffsetCommit),
        )

    def commit(
        self, offsets: Mapping[TopicPartition, int], tried_s: float | None = None
    ) -> None:
        """Let the group go on from these offsets.

        Raises:
            IllegalGeneration, UnknownMemberId, RebalanceInProgress: others read these
                partitions now, from what was committed before.
            KafkaError: an offset was refused.
        """
        request = commit_request(self._group_id, offsets)
        request.generation_id_or_member_epoch = self.generation_id
        request.member_id = self.member_id
        self._ask(request, OffsetCommitResponse, _check_commit, tried_s=tried_s)

    def leave(self) -> None:
        """Let others have the partitions at once. A broker that is gone is no error."""
        self._beats.stop()
        if self.member_id:
            request = LeaveGroupRequest(
                group_id=self._group_id,
                member_id=self.member_id,
                members=[MemberIdentity(member_id=self.member_id)],
            )
            with suppress(KafkaError, OSError, MalformedRequest):
                self._ask(request, LeaveGroupResponse, _check, _LEAVE_TIMEOUT_S, 0)
        self.member_id = ""
        self._disconnect()

    # One request, and its answer

    def _ask(
        self,
        request: Request,
        response_class: type[_Response],
        check: Callable[[_Response], None],
        timeout_s: float | None = None,
        tried_s: float | None = None,
    ) -> _Response:
        """What ``check`` finds right; asked again for ``tried_s`` while it may pass.

        On a connection of the member's own: an answer may take minutes.
        """

        def attempt(coordinator: Broker) -> _Response:
            connection = self._connected(coordinator)
            connection.wait_for(timeout_s or self._cluster.timeout_s)
            try:
                version = connection.version_of(request, LAST_VERSION_WITH_NAMES)
                response = connection.request(request, response_class, version)
            except BaseException as error:
                self._disconnect()  # whose answer would come next, nobody could say
                if isinstance(error, TimeoutError):
                    raise NoAnswer(f"broker {coordinator}: no answer") from None
                raise
            check(response)
            return response

        return self._cluster.retry.run(
            lambda: self._cluster.at_coordinator(
                self._group_id, attempt, timeout_s=tried_s
            ),
            lambda error: isinstance(error, Unreachable),
            tried_s,
        )

    def _connected(self, coordinator: Broker) -> Connection:
        if self._connection is None or self._node_id != coordinator.node_id:
            self._disconnect()
            self._connection = self._cluster.open_connection(coordinator.node_id)
            self._node_id = coordinator.node_id
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Answer(Protocol):
    error_code: int


def _check(answer: _Answer) -> None:
    raise_for(answer.error_code)


def _check_join(answer: JoinGroupResponse) -> None:
    if answer.error_code != MemberIdRequired.code:
        raise_for(answer.error_code)


def _check_commit(answer: OffsetCommitResponse) -> None:
    for place, error in refused_offsets(answer).items():
        raise error if isinstance(error, LOST) else type(error)(f"{place}: {error}")


def _subscriber(member_id: str, metadata: Buffer) -> Subscriber:
    """A member that says what nobody understands wants nothing."""
    try:
        said = decode_subscription(metadata)
    except MalformedRequest:
        return Subscriber(member_id, frozenset())
    owned = tuple(
        TopicPartition(each.topic, number)
        for each in said.owned_partitions
        for number in each.partitions
    )
    return Subscriber(member_id, frozenset(said.topics), owned, said.generation_id)
