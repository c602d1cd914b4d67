"""Answers, on a short way, AddPartitionsToTxn as a producer sends it again and again.

A producer of the first protocol writes the same partitions in one transaction after the
other, and says so by the same bytes: they are decoded once, and known from then on.
Everything else, and whatever is wrong with it, is left to `transactions`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.requests.known_requests import KnownAnswer, KnownRequests
from odradek.broker.requests.registry import shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, MalformedRequest
from odradek.protocol.headers import decode_request_header, encode_response
from odradek.protocol.messages.transactions import AddPartitionsToTxnRequest

from .transactions import (
    FIRST_VERSION_OF_BROKERS,
    partitions_of,
    refuse_addition,
    respond_to_addition,
)

if TYPE_CHECKING:
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topic_index import TopicIndex
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.services import Services
    from odradek.broker.requests.short_ways import ShortWays

_SIZE_MAX = 1024
_ID_POSITION, _SAID_POSITION = 4, 8  # in a frame; what is said begins with a client id


class KnownAddition(KnownAnswer):
    """What a producer says again and again, and the answer to it."""

    __slots__ = ("_topics", "addition", "refuse")

    def __init__(
        self, version: int, request: AddPartitionsToTxnRequest, topics: list[Topic]
    ) -> None:
        producer = ProducerIdentity(
            request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
        )
        asked = request.v3_and_below_topics
        wanted = partitions_of(asked)
        self.addition = Addition(
            request.v3_and_below_transactional_id, producer, tuple(wanted)
        )
        self.refuse = partial(refuse_addition, version, asked)
        self._topics = topics
        codes = dict.fromkeys(wanted, int(ErrorCode.NONE))
        answer = respond_to_addition(asked, codes)
        super().__init__(encode_response(answer, version, 0))

    def is_current(self, topics: TopicIndex) -> bool:
        """Whether its topics are those of these names still, and may be written."""
        mirrored = topics.mirrored
        return all(
            topics.get(topic.name) is topic and topic.topic_id not in mirrored
            for topic in self._topics
        )


@shortcut(AddPartitionsToTxnRequest, first_version=0)
class UsualAddition:
    """Answers requests of one version; knows by its bytes what they say."""

    __slots__ = ("_additions", "_known", "_services", "_version", "_ways")

    def __init__(self, services: Services, version: int, ways: ShortWays) -> None:
        self._version = version
        self._ways = ways
        self._services = services
        self._known: KnownRequests[KnownAddition] = KnownRequests(self._is_gone)
        self._additions = self._known.by_bytes

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        """The answer, or a `Parked` one; None for what takes the long way."""
        if len(frame) > _SIZE_MAX or self._version >= FIRST_VERSION_OF_BROKERS:
            return None
        said = bytes(frame[_SAID_POSITION:])
        known = self._additions.get(said)
        if known is None:
            self._learn(frame, said)
            return None
        services = self._services
        if not known.is_current(services.metadata):
            del self._additions[said]  # a topic of the same name is learnt anew
            return None
        body: Any = known.body
        answer = services.transactions.add_partitions(
            known.addition, body, known.refuse
        )
        if answer is body:
            correlation_id = bytes(frame[_ID_POSITION:_SAID_POSITION])
            return known.frame(correlation_id, known.body)
        return answer

    def _is_gone(self, known: KnownAddition) -> bool:
        """Whether its producer, or one of its topics, is no more."""
        transactional_id, producer = known.addition[:2]
        shard = self._services.transactions.runtime.settled(transactional_id)
        found = None if shard is None else shard.get(transactional_id)
        is_past = found is not None and found.producer != producer
        return is_past or not known.is_current(self._services.metadata)

    def _learn(self, frame: memoryview, said: bytes) -> None:
        """Know it when it comes again, if it is the usual."""
        if not self._known.has_room():
            return
        try:
            header, position = decode_request_header(frame)
            decode = decoder(AddPartitionsToTxnRequest, self._version)
            request, _ = decode(frame, position)
        except MalformedRequest:
            return  # the long way will say so
        topics = self._topics(request) if self._may(header.client_id, request) else []
        if topics:
            self._additions[said] = KnownAddition(self._version, request, topics)

    def _may(self, client_id: str | None, request: AddPartitionsToTxnRequest) -> bool:
        return self._ways.admits(client_id, request) and self._ways.allows(
            Operation.WRITE,
            ResourceType.TRANSACTIONAL_ID,
            request.v3_and_below_transactional_id,
        )

    def _topics(self, request: AddPartitionsToTxnRequest) -> list[Topic]:
        """What it names; nothing if that is not there, or not allowed."""
        metadata, found = self._services.metadata, []
        for asked in request.v3_and_below_topics:
            topic = metadata.get(asked.name)
            if topic is None or not self._ways.allows(
                Operation.WRITE, ResourceType.TOPIC, asked.name
            ):
                return []
            if topic.topic_id in metadata.mirrored:
                return []
            if any(not 0 <= each < len(topic.partitions) for each in asked.partitions):
                return []
            found.append(topic)
        return found
