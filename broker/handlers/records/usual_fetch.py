"""Answers, on a short way, the Fetch of a consumer that reads one partition.

Such a consumer, outside of a fetch session, sends the same bytes again and again: only
the offset changes. So they are decoded once, and known from then on. Everything else,
and whatever looks odd, is left to `fetch`.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Any

from odradek.broker.replica.fetch_sessions import NO_SESSION
from odradek.broker.replica.partition.fetch_reader import PartitionFetch
from odradek.broker.requests.context import RequestContext
from odradek.broker.requests.known_requests import (
    KnownRequests,
    is_current,
    topic_is_gone,
)
from odradek.broker.requests.registry import shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, MalformedRequest
from odradek.protocol.headers import decode_request_header, encode_request
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    ReplicaState,
)
from odradek.protocol.primitives import unsigned_varint
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation

from .fetch import (
    CONSUMER,
    FINAL_EPOCH,
    FIRST_VERSION_WITH_REPLICA_STATE,
    FIRST_VERSION_WITH_TOPIC_IDS,
    ISOLATIONS,
    NOT_ALLOWED,
    params_of,
)
from .fetch_answers import NUMBERS, around_records, partition_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.replica.partition.fetch_reader import FetchResult
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.services import Services
    from odradek.broker.requests.short_ways import ShortWays
    from odradek.storage.files.files import Buffer

    Finish = Callable[[Sequence[FetchResult]], FetchResponse | list[Buffer]]

# Version 12 is the first in which lengths are varints and structs end with tags.
FIRST_VERSION = 12

_SIZE_MAX = 512
_ID_POSITION = 8  # of the client's id in a frame, its length first
_FRAME_LENGTH = 4
_SESSION = 9  # its id and epoch, and the count of topics, before the first of these
_NO_SESSION = Struct(">ii").pack(NO_SESSION, FINAL_EPOCH)
_OFFSET = Struct(">q")

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
_NONE = ErrorCode.NONE


class PartitionAsk:
    """What a Fetch of one partition says besides the offset, and the answer to it."""

    __slots__ = (
        "_after",
        "_before",
        "_between",
        "_leader_epoch",
        "key",
        "max_bytes",
        "params",
        "topic_id",
    )

    def __init__(
        self, version: int, request: FetchRequest, topic: str, bytes_max: int
    ) -> None:
        (wanted,) = request.topics
        (partition,) = wanted.partitions
        self.key = TopicPartition(topic, partition.partition)
        self.topic_id = wanted.topic_id
        self.params = params_of(request, version, bytes_max)
        self.max_bytes = partition.partition_max_bytes
        self._leader_epoch = partition.current_leader_epoch
        committed = self.params.isolation is FetchIsolation.TXN_COMMITTED
        self._before, self._between, self._after, _ = around_records(
            version, topic, self.topic_id, committed
        )

    def at(self, offset: int) -> PartitionFetch:
        """What is wanted from ``offset`` on."""
        key, epoch = self.key, self._leader_epoch
        return _new(PartitionFetch, (key, offset, self.max_bytes, epoch, -1, _NONE))

    def respond(self, results: Sequence[FetchResult]) -> FetchResponse | list[Buffer]:
        """The body of the answer in buffers, or the response where more is to say."""
        (result,) = results
        name, index = self.key
        error, high, stable, start, records, aborted, diverging, _ = result
        if error or aborted or diverging:
            topic = FetchableTopicResponse(
                topic=name,
                topic_id=self.topic_id,
                partitions=[partition_data(index, result)],
            )
            return FetchResponse(responses=[topic])
        numbers = NUMBERS.pack(index, 0, high, stable, start)
        length = unsigned_varint(len(records) + 1)
        head = self._before + numbers + self._between + length
        return [head, records, self._after]


class GuardedAsk(PartitionAsk):
    """One of clients that may not do everything: may they still, when it is answered?

    That is a question only where it has had to wait. Those who come from where
    ``asker`` is are answered alike: one answer is for all of them who wait.
    """

    __slots__ = ("_services", "_version", "_ways", "asker")

    _services: Services
    _version: int
    _ways: ShortWays
    asker: ConnectionInfo  # who has asked so first

    def guard(self, services: Services, version: int, ways: ShortWays) -> None:
        """Find out by ``ways`` whether something has changed."""
        self._services, self._version, self._ways = services, version, ways

    def respond_late(
        self, results: Sequence[FetchResult]
    ) -> FetchResponse | list[Buffer]:
        """The answer to who comes from where ``asker`` is, and has had to wait."""
        return self.respond_to(self.asker, results)

    def respond_to(
        self, asker: ConnectionInfo, results: Sequence[FetchResult]
    ) -> FetchResponse | list[Buffer]:
        """The answer, to who may still read when it is there."""
        if self._ways.is_stale:  # something has changed while it waited
            ctx = RequestContext(self._services, asker, ApiKey.FETCH, self._version)
            if not ctx.may(Operation.READ, ResourceType.TOPIC, self.key[0]):
                results = [NOT_ALLOWED]
        return self.respond(results)


@shortcut(FetchRequest, first_version=FIRST_VERSION)
class UsualFetch:
    """Answers requests of one version; knows them by all their bytes but the offset."""

    __slots__ = (
        "_asks",
        "_by_id",
        "_known",
        "_lead",
        "_services",
        "_unopened",
        "_version",
        "_ways",
    )

    def __init__(self, services: Services, version: int, ways: ShortWays) -> None:
        self._version = version
        self._ways = ways
        self._by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
        self._known: KnownRequests[PartitionAsk] = KnownRequests(
            topic_is_gone(services.metadata, self._by_id)
        )
        self._asks = self._known.by_bytes
        self._services = services
        self._unopened = services.replica_manager.unopened_logs
        # From the client's id to the topic: tags, replica, wait, sizes, isolation,
        # session, one topic.
        self._lead = 33 if version >= FIRST_VERSION_WITH_REPLICA_STATE else 37

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        """The answer, or a later one; None for what takes the long way."""
        if self._unopened or len(frame) > _SIZE_MAX:
            return None
        data = bytes(frame)
        try:
            topic = (data[_ID_POSITION] << 8 | data[_ID_POSITION + 1]) + self._lead
            # Its id or its name, one partition, index, leader epoch: then the offset.
            position = topic + (25 if self._by_id else data[topic] + 9)
            (offset,) = _OFFSET.unpack_from(data, position)
        except (IndexError, struct_error):
            return None
        around = data[_ID_POSITION:position] + data[position + _OFFSET.size :]
        try:
            ask = self._asks[around]
        except KeyError:
            if data[topic - _SESSION : topic - 1] != _NO_SESSION:
                return None  # the next one has other bytes: nothing is to be learned
            ask = self._learn(connection, frame, position, around)
        if ask is None:
            return None
        metadata = self._services.metadata
        if self._by_id and not is_current(metadata, ask.topic_id, ask.key[0]):
            return None
        executor = self._services.replica_manager.fetch_executor
        if type(ask) is not GuardedAsk:
            return executor.fetch_one(ask.params, ask.at(offset), ask.respond)
        late: Finish = ask.respond_late
        asker = ask.asker
        if asker is not connection and asker.peer_host != connection.peer_host:
            late = partial(ask.respond_to, connection)
        return executor.fetch_one(ask.params, ask.at(offset), ask.respond, late)

    def _learn(
        self,
        connection: ConnectionInfo,
        frame: memoryview,
        position: int,
        around: bytes,
    ) -> PartitionAsk | None:
        """What these bytes say; None, and known as such, if it is not the usual."""
        if not self._known.has_room():
            return None
        try:
            header, start = decode_request_header(frame)
            request, _ = decoder(FetchRequest, self._version)(frame, start)
        except MalformedRequest:
            return None  # the long way will say so
        ask = None
        client_id = header.client_id
        if (
            _is_usual(request)
            and not self._has_choice(request)
            and self._ways.admits(client_id, request)
            and self._has_its_offset_at(position, frame, client_id, request)
        ):
            ask = self._ask_of(connection, request, client_id)
        self._asks[around] = ask
        return ask

    def _ask_of(
        self, connection: ConnectionInfo, request: FetchRequest, client_id: str | None
    ) -> PartitionAsk | None:
        name: str | None = request.topics[0].topic
        if self._by_id:
            known = self._services.metadata.by_id(request.topics[0].topic_id)
            name = None if known is None else known.name
        if name is None or not self._ways.allows(
            Operation.READ, ResourceType.TOPIC, name
        ):
            return None
        config = self._services.config
        quota = self._services.quotas.fetch_bytes_max(
            self._ways.user, client_id or "", config
        )
        bytes_max = min(config.fetch_max_bytes, quota)
        if self._ways.access is None:
            return PartitionAsk(self._version, request, name, bytes_max)
        ask = GuardedAsk(self._version, request, name, bytes_max)
        ask.guard(self._services, self._version, self._ways)
        ask.asker = connection
        return ask

    def _has_choice(self, request: FetchRequest) -> bool:
        """Whether who asks may be sent to another replica, now or once we lead."""
        cluster = self._services.cluster
        return bool(request.rack_id) and (
            cluster is not None and cluster.read_replicas is not None
        )

    def _has_its_offset_at(
        self,
        position: int,
        frame: memoryview,
        client_id: str | None,
        request: FetchRequest,
    ) -> bool:
        """Whether the frame is what everybody would write, and its offset is there."""
        partition = request.topics[0].partitions[0]
        correlation_id = int.from_bytes(frame[4:_ID_POSITION], "big", signed=True)
        frames = []
        for offset in (partition.fetch_offset, ~partition.fetch_offset):
            partition.fetch_offset = offset
            written = encode_request(request, self._version, correlation_id, client_id)
            frames.append(written[_FRAME_LENGTH:])
        partition.fetch_offset = ~partition.fetch_offset
        turned = bytearray(frame)
        _OFFSET.pack_into(turned, position, ~partition.fetch_offset)
        return frames == [frame, turned]


def _is_usual(request: FetchRequest) -> bool:
    """A consumer's request, without a session, for one partition of one topic."""
    if [len(topic.partitions) for topic in request.topics] != [1]:
        return False
    if request.session_id != NO_SESSION or request.session_epoch != FINAL_EPOCH:
        return False
    if request.replica_id != CONSUMER or request.replica_state != ReplicaState():
        return False
    partition = request.topics[0].partitions[0]
    return (
        request.isolation_level in ISOLATIONS
        and not request.forgotten_topics_data
        and partition.partition_max_bytes >= 0
        and partition.last_fetched_epoch < 0
    )
