"""Fetch: read partitions from given offsets on, waiting for ``min_bytes``.

A request is full, and names all partitions; or it goes on with a session, and names
those that have changed (`fetch_sessions`).
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from odradek.broker.replica.fetch_sessions import NO_SESSION, FetchSession
from odradek.broker.replica.partition.fetch_reader import (
    FetchParams,
    FetchResult,
    PartitionFetch,
)
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID, to_text
from odradek.storage.values.log_read import FetchIsolation

from .fetch_answers import FIRST_VERSION, encode_read, is_plain, partition_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.broker.cluster.view import ClusterView
    from odradek.broker.replica.waiting.follower_reads import FollowerReads
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer, Body, Settled
    from odradek.storage.files.files import Buffer

FIRST_VERSION_OF_ANY_REPLICA = 11
FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_REPLICA_STATE = 15
NEW_SESSION_EPOCH, FINAL_EPOCH = 0, -1
CONSUMER = -1

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__

# What is read of a partition by who may not read it.
NOT_ALLOWED = FetchResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

ISOLATIONS = {0: FetchIsolation.HIGH_WATERMARK, 1: FetchIsolation.TXN_COMMITTED}


@handles(
    FetchRequest,
    versions=(4, 18),
    needs=needs.inside(
        needs.topic(Operation.READ), needs.cluster(Operation.CLUSTER_ACTION)
    ),
)
def handle_fetch(ctx: RequestContext, request: FetchRequest) -> Answer:
    """Answer with records, at once or when there are enough of them.

    Raises:
        FetchSessionIdNotFound, InvalidFetchSessionEpoch, FetchSessionTopicIdError:
            the client must begin anew, with a full request.
    """
    epoch = request.session_epoch
    if epoch == FINAL_EPOCH and not request.session_id:
        fetch = Fetch(ctx, request)
    else:
        fetch = _fetch_with_session(ctx, request)
    replica_manager = ctx.services.replica_manager
    if replica_manager.unopened_logs:
        wanted = [each.topic_partition for each in fetch.wanted]
        if unopened := replica_manager.unopened(wanted):
            if fetch.is_replica:
                return fetch.read_others(unopened)
            return fetch.read_when_open(unopened)
    return fetch.read()


def _fetch_with_session(ctx: RequestContext, request: FetchRequest) -> Fetch:
    """A request that goes on with a session, ends one, or asks for one."""
    sessions, epoch = ctx.services.fetch_sessions, request.session_epoch
    if epoch in (NEW_SESSION_EPOCH, FINAL_EPOCH):
        sessions.close(request.session_id)
        fetch = Fetch(ctx, request)
        if epoch == NEW_SESSION_EPOCH:
            fetch.begin_session()
        return fetch
    session = sessions.find(
        request.session_id,
        epoch,
        by_id=ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS,
        now_ms=ctx.services.clock.monotonic_ms(),
    )
    fetch = Fetch(ctx, request)
    fetch.go_on_with(session, request)
    return fetch


class Fetch:
    """One request, from what it wants to its answer. No partition twice."""

    __slots__ = (
        "_ctx",
        "_params",
        "_preferred",
        "_rack",
        "_session",
        "_topic_ids",
        "follower",
        "is_replica",
        "wanted",
    )

    def __init__(self, ctx: RequestContext, request: FetchRequest) -> None:
        self._ctx = ctx
        self._session: FetchSession | None = None
        self._rack = request.rack_id
        self._preferred: Mapping[TopicPartition, int] | None = None
        self._topic_ids: dict[str, bytes] = {}
        wanted: dict[TopicPartition, PartitionFetch] = {}
        isolation = ISOLATIONS.get(request.isolation_level)
        bytes_max = ctx.services.config.fetch_max_bytes
        if ctx.services.quotas:
            quota = ctx.services.quotas.fetch_bytes_max(
                ctx.connection.user, ctx.client_id or "", ctx.services.config
            )
            bytes_max = min(bytes_max, quota)
        self._params = params_of(request, ctx.api_version, bytes_max)
        replica_id = request.replica_id
        if ctx.api_version >= FIRST_VERSION_WITH_REPLICA_STATE:
            replica_id = request.replica_state.replica_id
        self.is_replica = replica_id > CONSUMER
        if self.is_replica:
            from .follower_fetch import FollowerFetch

            self.follower = follower = FollowerFetch(
                ctx.services, replica_id, request.replica_state.replica_epoch
            )
            self._params = self._params._replace(
                isolation=FetchIsolation.LOG_END, needs_leader=True, note=follower.note
            )
        by_id = ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
        for topic in request.topics:
            name: str | None = topic.topic
            if by_id:
                known = ctx.services.metadata.by_id(topic.topic_id)
                name = None if known is None else known.name
            key = to_text(topic.topic_id) if name is None else name
            self._topic_ids[key] = topic.topic_id
            for each in topic.partitions:
                if name is None:
                    refusal = ErrorCode.UNKNOWN_TOPIC_ID
                elif isolation is None or each.partition_max_bytes < 0:
                    refusal = ErrorCode.INVALID_REQUEST
                elif self.is_replica:
                    refusal = self.follower.take(name, each)
                else:
                    refusal = ErrorCode.NONE
                topic_partition = _new(TopicPartition, (key, each.partition))
                wanted[topic_partition] = _new(
                    PartitionFetch,
                    (
                        topic_partition,
                        each.fetch_offset,
                        each.partition_max_bytes,
                        each.current_leader_epoch,
                        each.last_fetched_epoch,
                        refusal,
                    ),
                )

        self.wanted = list(wanted.values())

    def begin_session(self) -> None:
        """Let the next request name only what has changed, if there is room for it."""
        session = FetchSession(
            {each.topic_partition: each for each in self.wanted},
            self._topic_ids,
            self._ctx.services.clock.monotonic_ms(),
            by_id=self._ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS,
            is_privileged=self.is_replica,
        )
        if self._ctx.services.fetch_sessions.open(session):
            self._session = session
            if self._waits_in(session):
                self.follower.look_at_all(self.reads, self.wanted)

    def go_on_with(self, session: FetchSession, request: FetchRequest) -> None:
        """Read all that the session wants, after what the request changes."""
        topics, by_id = self._ctx.services.metadata, session.by_id
        has_forgotten = by_id and request.forgotten_topics_data
        names = session.names() if has_forgotten else {}
        forgotten = [
            TopicPartition(name, partition)
            for topic in request.forgotten_topics_data
            if (name := names.get(topic.topic_id) if by_id else topic.topic)
            for partition in topic.partitions
        ]
        wanted = {each.topic_partition: each for each in self.wanted}
        self._ctx.services.fetch_sessions.update(
            session, wanted, self._topic_ids, forgotten
        )
        self._session = session
        is_usual = request.isolation_level in ISOLATIONS and not has_forgotten
        if self._waits_in(session) and is_usual:
            self.wanted = self.follower.changed(self.reads, self.wanted)
            if self.wanted:
                return
        self.wanted = session.to_read(topics)
        if self._params.again is not None:
            self.follower.look_at_all(self.reads, self.wanted)
        if request.isolation_level not in ISOLATIONS:
            refusal = ErrorCode.INVALID_REQUEST
            self.wanted = [each._replace(refusal=refusal) for each in self.wanted]

    def _waits_in(self, session: FetchSession) -> bool:
        """Whether it waits by what has changed in its session."""
        if not self.is_replica or session.reads is None:
            return False
        if self.follower.may_wait_in(session.reads, self._params.min_bytes):
            may_wait_ms = self.follower.wait_max_ms(
                session.reads, self._params.max_wait_ms
            )
            self._params = self._params._replace(again=self, max_wait_ms=may_wait_ms)
            return True
        return False

    @property
    def reads(self) -> FollowerReads:
        """What the follower reads in its session."""
        assert self._session is not None
        assert self._session.reads is not None
        return self._session.reads

    def gathers(self, size: int) -> bool:
        """Whether a follower's fetch waits for those who were just acknowledged."""
        return self.follower.gathers(self.reads, size)

    def select(self) -> Sequence[PartitionFetch]:
        """What has changed while it waited."""
        self.wanted = self.reads.select()
        return self.wanted

    def read(self) -> Settled | Coroutine[Any, Any, Body]:
        """The answer, a future of it, or a coroutine that gets it from the disk."""
        if self._ctx.services.authorizer is not None:
            denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            self.wanted = [
                each if self._may_read(each) else each._replace(refusal=denied)
                for each in self.wanted
            ]
        if self._ctx.services.cluster is not None:
            self._mind_the_others(self._ctx.services.cluster)
        return self._ctx.services.replica_manager.fetch_records(
            self._params, self.wanted, self.respond
        )

    def _mind_the_others(self, cluster: ClusterView) -> None:
        """Hold back what would be too much for followers, or is nearer elsewhere."""
        from .cluster_fetch import held_back, preferred_replicas, slowed_down

        if self.is_replica:
            find = self._ctx.services.replica_manager.partition
            self.wanted = slowed_down(
                cluster.throttles.leader, find, self.wanted, self.follower.broker_id
            )
        elif self._rack and not self._params.needs_leader:
            self._preferred = preferred_replicas(self._ctx, self._rack, self.wanted)
            if self._preferred:
                self._params = self._params._replace(max_wait_ms=0)
                self.wanted = held_back(self.wanted, self._preferred)

    def read_others(
        self, unopened: list[TopicPartition]
    ) -> Settled | Coroutine[Any, Any, Body]:
        """The answer to a follower; of these logs, that it is to ask again.

        It may follow all partitions of this broker by this one request: a log that is
        read for a minute must not keep the others.
        """
        replica_manager = self._ctx.services.replica_manager
        replica_manager.fetch_executor.start(replica_manager.open(unopened))
        left_out, refusal = frozenset(unopened), ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.wanted = [
            each._replace(refusal=refusal)
            if each.topic_partition in left_out and not each.refusal
            else each
            for each in self.wanted
        ]
        return self.read()

    async def read_when_open(self, unopened: list[TopicPartition]) -> Body:
        """The answer, once the logs that were never used before are open."""
        await self._ctx.services.replica_manager.open(unopened)
        answer = self.read()
        return await answer if isinstance(answer, Parked | Coroutine) else answer

    def respond(self, results: Sequence[FetchResult]) -> FetchResponse | list[Buffer]:
        """The response with what was read of each partition; mostly its buffers."""
        session, version = self._session, self._ctx.api_version
        if self._ctx.services.authorizer is not None:
            # It may have changed while this waited.
            results = [
                result if self._may_read(each) else NOT_ALLOWED
                for each, result in zip(self.wanted, results, strict=True)
            ]
        if session is None:
            told = [
                (wanted.topic_partition, result)
                for wanted, result in zip(self.wanted, results, strict=True)
            ]
            session_id, topic_ids = NO_SESSION, self._topic_ids
        else:
            told = session.select_changed(
                self.wanted, results, self._preferred or frozenset()
            )
            session_id, topic_ids = session.session_id, session.topic_ids
            if self._params.again is not None:
                self.follower.keep(self.reads, self.wanted, results)
        cluster, preferred = self._ctx.services.cluster, self._preferred
        if cluster is not None and self.is_replica:
            from .cluster_fetch import count_sent

            leader = cluster.throttles.leader
            count_sent(leader, self.wanted, results, self.follower.broker_id)
        if (
            len(told) == 1
            and version >= FIRST_VERSION
            and not preferred
            and is_plain(told[0][1])
        ):
            ((name, partition), result) = told[0]
            topic_id = topic_ids.get(name, ZERO_UUID)
            return encode_read(version, name, topic_id, partition, result, session_id)
        topics: dict[str, list[PartitionData]] = {}
        for (name, partition), result in told:
            topics.setdefault(name, []).append(partition_data(partition, result))
        if preferred:
            from .cluster_fetch import name_preferred

            name_preferred(topics, preferred)
        response = FetchResponse(
            session_id=session_id,
            responses=[
                FetchableTopicResponse(
                    topic=name,
                    topic_id=topic_ids.get(name, ZERO_UUID),
                    partitions=partitions,
                )
                for name, partitions in topics.items()
            ],
        )
        if cluster is not None:
            from .told_leaders import told_to_reader

            return told_to_reader(self._ctx, response)
        return response

    def _may_read(self, wanted: PartitionFetch) -> bool:
        """Whether the client may; of an id that is unknown there is no name to ask."""
        if wanted.refusal == ErrorCode.UNKNOWN_TOPIC_ID:
            return True
        ctx = self._ctx
        if self.is_replica:
            return ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        return ctx.may(Operation.READ, ResourceType.TOPIC, wanted.topic_partition.topic)


def params_of(request: FetchRequest, version: int, bytes_max: int) -> FetchParams:
    """What holds for the whole of a fetch; no more than ``bytes_max`` in any case."""
    max_bytes = max(0, min(request.max_bytes, bytes_max))
    isolation = ISOLATIONS.get(request.isolation_level, FetchIsolation.HIGH_WATERMARK)
    return _new(
        FetchParams,
        (
            isolation,
            request.max_wait_ms,
            min(request.min_bytes, max_bytes),
            max_bytes,
            version < FIRST_VERSION_OF_ANY_REPLICA,
            None,
            None,
        ),
    )
