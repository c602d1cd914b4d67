"""Answers, on a short way, the Produce that nearly everybody sends.

It has one batch for one partition, and wants an answer. What stands in front of the
batch its producer sends again and again: client id, transactional id, acks, timeout,
topic, partition. So these bytes are decoded once, and known from then on. Where a
transaction begins in the partition its coordinator is asked; if it has to think about
it, that is left to `produce`, as everything else is, and whatever looks odd.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from odradek.broker.replica.partition.partition import ACKS_ALL
from odradek.broker.requests.known_requests import (
    KnownRequests,
    is_current,
    topic_is_gone,
)
from odradek.broker.requests.registry import shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.headers import decode_request_header, encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .produce import ADMIN_CLIENT_ID, FIRST_VERSION_WITH_TOPIC_IDS, partition_response
from .produce_answers import around_numbers
from .transaction_verification import guard_at_once

try:
    from odradek.protocol.speedups import find_usual_batch
except ImportError:  # installed where there was no compiler
    from odradek.protocol.plain.usual_produce import find_usual_batch

if TYPE_CHECKING:
    from odradek.broker.replica.waiting.delayed_produce import AppendResult
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.services import Services
    from odradek.broker.requests.short_ways import ShortWays

# Version 9 is the first in which lengths are varints and structs end with tags.
FIRST_VERSION = 9

_HEAD_SIZE_MAX = 512
_ID_POSITION = 8  # of the client's id in a frame, its length first
_FRAME_LENGTH = 4
_NO_TAG = b"\0"
_PLACE = Struct(">ih")  # of an answer: index, error code
_NO_TAGS = b"\0\0\0"  # of partition, topic and request, behind the batch


class ProduceHead:
    """What a Produce says in front of its batch, and the answer to it."""

    __slots__ = (
        "_after",
        "_before_numbers",
        "_pack",
        "_size",
        "acks",
        "is_admin",
        "key",
        "timeout_ms",
        "topic_id",
        "transactional_id",
    )

    def __init__(
        self,
        version: int,
        client_id: str | None,
        request: ProduceRequest,
        topic: str,
    ) -> None:
        (wanted,) = request.topic_data
        (data,) = wanted.partition_data
        self.key = TopicPartition(topic, data.index)
        self.topic_id = wanted.topic_id
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.is_admin = client_id == ADMIN_CLIENT_ID
        self.transactional_id = request.transactional_id
        before, self._after = around_numbers(version, topic, self.topic_id)
        # The answer's frame in one piece: no tags in its header; then the body, in
        # which index and error code are known as well.
        self._before_numbers = _NO_TAG + before + _PLACE.pack(data.index, 0)
        layout = f">ii{len(self._before_numbers)}sqqq{len(self._after)}s"
        frame = Struct(layout)
        self._size, self._pack = frame.size - _FRAME_LENGTH, frame.pack

    def frame(
        self, correlation_id: int, base_offset: int, time_ms: int, log_start: int
    ) -> bytes:
        """The whole answer to a batch that was appended."""
        return self._pack(
            self._size,
            correlation_id,
            self._before_numbers,
            base_offset,
            time_ms,
            log_start,
            self._after,
        )

    def respond(self, result: AppendResult) -> Any:
        """The response to one that was refused, or failed."""
        name, index = self.key
        answers = [partition_response(index, result)]
        topic = TopicProduceResponse(
            name=name, topic_id=self.topic_id, partition_responses=answers
        )
        return ProduceResponse(responses=[topic])


@shortcut(ProduceRequest, first_version=FIRST_VERSION)
class UsualProduce:
    """Answers requests of one version; knows their heads by their bytes."""

    __slots__ = (
        "_appends",
        "_by_id",
        "_heads",
        "_known",
        "_metadata",
        "_services",
        "_unopened",
        "_version",
        "_ways",
    )

    def __init__(self, services: Services, version: int, ways: ShortWays) -> None:
        self._version = version
        self._ways = ways
        self._by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
        self._services = services
        self._metadata = services.metadata
        self._known: KnownRequests[ProduceHead] = KnownRequests(
            topic_is_gone(self._metadata, self._by_id)
        )
        self._heads = self._known.by_bytes
        self._appends = services.replica_manager.appends
        self._unopened = services.replica_manager.unopened_logs

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        """The answer, or a `Parked` one; None for what takes the long way."""
        found = find_usual_batch(frame, self._by_id)
        if found is None or self._unopened:
            return None
        correlation_id, head_bytes, start, stop = found
        try:
            head = self._heads[head_bytes]
        except KeyError:
            head = self._learn(frame, head_bytes)
        if head is None:
            return None
        if self._by_id and not is_current(self._metadata, head.topic_id, head.key[0]):
            return None
        batch, transactional_id = frame[start:stop], head.transactional_id
        if transactional_id is None:
            return self._appends.append_one(head, batch, correlation_id)
        shown = guard_at_once(
            self._services, self._version, transactional_id, head.key, batch
        )
        if shown is None:
            return None
        return self._appends.append_one(head, batch, correlation_id, *shown)

    def _learn(self, frame: memoryview, head_bytes: bytes) -> ProduceHead | None:
        """What these bytes say; None, and known as such, if it is not the usual."""
        if len(head_bytes) > _HEAD_SIZE_MAX or not self._known.has_room():
            return None
        try:
            header, position = decode_request_header(frame)
            request, _ = decoder(ProduceRequest, self._version)(frame, position)
        except MalformedRequest:
            return None  # the long way will say so
        head = None
        if self._ways.admits(header.client_id, request):
            head = self._head_of(request, header.client_id, head_bytes)
        self._heads[head_bytes] = head
        return head

    def _head_of(
        self, request: ProduceRequest, client_id: str | None, head_bytes: bytes
    ) -> ProduceHead | None:
        if request.acks not in (1, ACKS_ALL):
            return None
        if not self._may_use(request.transactional_id):
            return None
        if [len(topic.partition_data) for topic in request.topic_data] != [1]:
            return None
        (topic,) = request.topic_data
        name: str | None = topic.name
        if self._by_id:
            known = self._metadata.by_id(topic.topic_id)
            name = None if known is None else known.name
        if name is None or not self._may_write(name):
            return None
        if _bytes_of_head(request, client_id, self._version) != (head_bytes):
            return None
        return ProduceHead(self._version, client_id, request, name)

    def _may_write(self, name: str) -> bool:
        return self._ways.allows(Operation.WRITE, ResourceType.TOPIC, name)

    def _may_use(self, transactional_id: str | None) -> bool:
        return transactional_id is None or self._ways.allows(
            Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
        )


def _bytes_of_head(
    request: ProduceRequest, client_id: str | None, version: int
) -> bytes:
    """What stands before the batch when it is written as everybody does."""
    (topic,) = request.topic_data
    bare = PartitionProduceData(index=topic.partition_data[0].index, records=None)
    request = ProduceRequest(
        transactional_id=request.transactional_id,
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=[
            TopicProduceData(
                name=topic.name, topic_id=topic.topic_id, partition_data=[bare]
            )
        ],
    )
    frame = encode_request(request, version, client_id=client_id)
    null = 1  # no batch: a length of one byte
    return frame[_FRAME_LENGTH + _ID_POSITION : -len(_NO_TAGS) - null]
