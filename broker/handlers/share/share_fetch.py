"""ShareFetch 1-2: records of share groups, handed out to a member for a while.

A request goes on with a session, and may say what became of earlier records: that and
the fetch are answered together. One that renews locks, or ends the session, reads
nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.requests import needs
from odradek.broker.requests.current_leaders import current_leaders
from odradek.broker.requests.registry import handles
from odradek.broker.runtime.parked import Parked, gathered
from odradek.broker.share.sessions import FINAL_EPOCH, NEW_EPOCH, ShareSession
from odradek.broker.share.share_fetch import FetchTerms, ShareRead
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    InvalidRequest,
    KafkaError,
    ShareSessionLimitReached,
)
from odradek.protocol.messages.share_fetch import (
    AcquiredRecords,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    SharePartitionData,
)

from .said import (
    FIRST_VERSION_WITH_RENEWALS,
    check_readable,
    member_of,
    name_leaders,
    said_of,
    take_said,
    told_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.share.sessions import MemberKey

    Reads = dict[ShareKey, ShareRead]

WHOLE_BATCHES, EXACTLY = 0, 1


@handles(
    ShareFetchRequest,
    versions=(1, 2),
    needs=needs.inside(needs.group(Operation.READ), needs.topic(Operation.READ)),
)
def handle_share_fetch(ctx: RequestContext, request: ShareFetchRequest) -> Answer:
    """Hand records out, at once or when there are some.

    Raises:
        KafkaError: who asks may not, has no such session, or asks for what cannot be.
    """
    member = member_of(ctx, request)
    is_renewal = ctx.api_version >= FIRST_VERSION_WITH_RENEWALS and request.is_renew_ack
    _check(request, is_renewal)
    said = said_of(member.group_id, request.topics)
    try:
        session = _session_of(ctx, member, request, has_said=bool(said))
    except ShareSessionLimitReached as error:
        return _refuse_later(ctx, request, error)
    fetch = ShareFetch(ctx, session)
    fetch.take(said, is_renewal=is_renewal)
    if request.share_session_epoch == FINAL_EPOCH:
        ctx.services.sharing.end(session)
    elif not is_renewal:
        fetch.read(request)
    return fetch.answer()


def _check(request: ShareFetchRequest, is_renewal: bool) -> None:
    if request.share_acquire_mode not in (WHOLE_BATCHES, EXACTLY):
        raise InvalidRequest("Records are acquired in mode 0 or 1.")
    wants_some = (
        request.max_bytes or request.min_bytes or request.max_records
    ) or request.max_wait_ms
    if is_renewal and wants_some:
        raise InvalidRequest(
            "A fetch that renews locks must have maxBytes, minBytes, maxRecords and "
            "maxWaitMs 0."
        )


def _session_of(
    ctx: RequestContext, member: MemberKey, request: ShareFetchRequest, has_said: bool
) -> ShareSession:
    """The session that the request begins, goes on with, or ends.

    Raises:
        KafkaError: there is none, or none can begin.
    """
    sharing, epoch = ctx.services.sharing, request.share_session_epoch
    sessions = sharing.sessions
    named = [
        ShareKey(member.group_id, topic.topic_id, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
    ]
    if epoch == NEW_EPOCH:
        if has_said:
            raise InvalidRequest("A new session has no records to acknowledge.")
        connection = ctx.connection
        session = ShareSession(member, named, connection)
        sessions.open(session)
        connection.when_lost(sharing.connection_lost)
        return session
    session = sessions.find(member, epoch)
    if epoch != FINAL_EPOCH:
        forgotten = [
            ShareKey(member.group_id, topic.topic_id, partition)
            for topic in request.forgotten_topics_data
            for partition in topic.partitions
        ]
        sessions.update(session, named, forgotten)
        sharing.let_go(forgotten)
        session.begin_next()
    return session


def _refuse_later(
    ctx: RequestContext, request: ShareFetchRequest, error: KafkaError
) -> Parked[ShareFetchResponse]:
    """Not at once: the client would ask again, and again."""
    parked: Parked[ShareFetchResponse] = Parked()
    response = ShareFetchResponse(error_code=error.code, error_message=str(error))
    ctx.services.clock.call_later(
        max(0, request.max_wait_ms), partial(parked.set_result, response)
    )
    return parked


class ShareFetch:
    """One request, from what it wants to its answer."""

    def __init__(self, ctx: RequestContext, session: ShareSession) -> None:
        self._ctx = ctx
        self._session = session
        self._outcomes: dict[ShareKey, KafkaError | Parked[Any] | None] = {}
        self._refused: Reads = {}
        self._read: Reads | Parked[Reads] = {}

    def take(self, said: dict[ShareKey, Any], *, is_renewal: bool) -> None:
        """Take what became of earlier records."""
        if said:
            member = self._session.key
            self._outcomes = take_said(self._ctx, member, said, is_renewal=is_renewal)

    def read(self, request: ShareFetchRequest) -> None:
        """Begin to read what the session reads, each time from another one on."""
        ctx, session = self._ctx, self._session
        keys = []
        for key in session.in_turn(request.share_session_epoch):
            try:
                check_readable(ctx, key)
            except KafkaError as error:
                self._refused[key] = ShareRead(error.as_value())
            else:
                keys.append(key)
        config, sharing = ctx.services.config, ctx.services.sharing
        bytes_max = config.fetch_max_bytes
        if ctx.services.quotas:
            quota = ctx.services.quotas.fetch_bytes_max(
                ctx.connection.user, ctx.client_id or "", config
            )
            bytes_max = min(bytes_max, quota)
        bytes_max = max(0, min(request.max_bytes, bytes_max))
        terms = FetchTerms(
            session.key.member_id,
            sharing.settings.of(session.key.group_id).isolation,
            request.max_wait_ms,
            min(request.min_bytes, bytes_max),
            bytes_max,
            request.max_records,
            request.batch_size,
            request.share_acquire_mode == EXACTLY,
        )
        self._read = sharing.fetch(session, keys, terms)

    def answer(self) -> Answer:
        """The response, once all of it is there."""
        return gathered([self._read, *self._outcomes.values()], self._respond)

    def _respond(self, answers: list[Any]) -> ShareFetchResponse:
        reads: Reads = {**self._refused, **answers[0]}
        said: dict[ShareKey, KafkaError | None] = dict(
            zip(self._outcomes, answers[1:], strict=True)
        )
        session = self._session
        topics: dict[bytes, list[SharePartitionData]] = {}
        for key in _in_order(session, reads, said):
            read = reads.get(key)
            is_first = read is not None and session.takes_answer(key)
            read = read or _NOTHING
            if is_first or read.error or read.records or key in said:
                data = _partition_data(key, read, said.get(key))
                topics.setdefault(key.topic_id, []).append(data)
        settings = self._ctx.services.sharing.settings.of(session.key.group_id)
        leaders = current_leaders(self._ctx)
        if leaders is not None:
            name_leaders(leaders, topics)
        return ShareFetchResponse(
            node_endpoints=[] if leaders is None else leaders.endpoints,
            acquisition_lock_timeout_ms=settings.limits.lock_ms,
            responses=[
                ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )


_NOTHING = ShareRead()


def _in_order(
    session: ShareSession, reads: Reads, said: Iterable[ShareKey]
) -> list[ShareKey]:
    """The partitions of an answer, as the session has them; then the others."""
    keys = dict.fromkeys(key for key in session.partitions if key in reads)
    keys.update(dict.fromkeys(reads))
    keys.update(dict.fromkeys(said))
    return list(keys)


def _partition_data(
    key: ShareKey, read: ShareRead, said: KafkaError | None
) -> SharePartitionData:
    error_code, error_message = told_of(read.error)
    acknowledge_error_code, acknowledge_error_message = told_of(said)
    return SharePartitionData(
        partition_index=key.partition,
        error_code=error_code,
        error_message=error_message,
        acknowledge_error_code=acknowledge_error_code,
        acknowledge_error_message=acknowledge_error_message,
        records=read.records,
        acquired_records=[
            AcquiredRecords(
                first_offset=first, last_offset=last, delivery_count=delivery_count
            )
            for first, last, delivery_count in read.acquired
        ],
    )
