"""Answers, on a short way, the Produce that nearly everybody sends.

It has one batch for one partition, outside of any transaction, and wants an answer.
What stands in front of the batch its producer sends again and again: client id, acks,
timeout, topic, partition. So these bytes are decoded once, and known from then on.
Everything else, and whatever looks odd, is left to `produce`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.compiler import decoder
from protocol.errors import MalformedRequest
from protocol.headers import decode_request_header, encode_request
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.primitives import read_unsigned_varint
from protocol.record_batch import TRANSACTIONAL
from protocol.topic_partition import TopicPartition

from ..replica.partition import ACKS_ALL
from .known_requests import KnownRequests, is_current
from .produce import (
    ADMIN_CLIENT_ID,
    ATTRIBUTES_POSITION,
    FIRST_VERSION_WITH_TOPIC_IDS,
    partition_response,
)
from .produced import NUMBERS, around_numbers
from .registry import shortcut

if TYPE_CHECKING:
    from ..replica.delayed_produce import AppendResult
    from ..services import Services

# Version 9 is the first in which lengths are varints and structs end with tags.
FIRST_VERSION = 9

_HEAD_SIZE_MAX = 512
_ID_POSITION = 8  # of the client's id in a frame, its length first
_FRAME_LENGTH = 4
_NO_TAGS = b"\0\0\0"  # of partition, topic and request, behind the batch


class ProduceHead:
    """What a Produce says in front of its batch, and the answer to it."""

    __slots__ = (
        "_after",
        "_before",
        "acks",
        "is_admin",
        "key",
        "timeout_ms",
        "topic_id",
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
        self._before, self._after = around_numbers(version, topic, self.topic_id)

    def respond(self, result: AppendResult) -> Any:
        """The body of the answer, or the response where there is more to say."""
        error_code, base_offset, time_ms, log_start_offset, _, _, _ = result
        name, index = self.key
        if error_code:
            answers = [partition_response(index, result)]
            topic = TopicProduceResponse(
                name=name, topic_id=self.topic_id, partition_responses=answers
            )
            return ProduceResponse(responses=[topic])
        numbers = NUMBERS.pack(index, 0, base_offset, time_ms, log_start_offset)
        return self._before + numbers + self._after


@shortcut(ProduceRequest, first_version=FIRST_VERSION)
class UsualProduce:
    """Answers requests of one version; knows their heads by their bytes."""

    __slots__ = (
        "_appends",
        "_by_id",
        "_heads",
        "_known",
        "_metadata",
        "_unopened",
        "_version",
    )

    def __init__(self, services: Services, version: int) -> None:
        self._version = version
        self._by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
        self._known: KnownRequests[ProduceHead] = KnownRequests()
        self._heads = self._known.by_bytes
        self._appends = services.replica_manager.appends
        self._unopened = services.replica_manager.unopened_logs
        self._metadata = services.metadata

    def __call__(self, frame: memoryview) -> Any:
        """The answer, or a `Parked` one; None for what takes the long way."""
        try:
            # Client id, tags, transactional id, acks, timeout, one topic: ...
            topic = (frame[_ID_POSITION] << 8 | frame[_ID_POSITION + 1]) + 19
            # ... its id or its name, one partition, index.
            end = topic + (21 if self._by_id else frame[topic] + 5)
            size, position = frame[end], end + 1
            if size >= 0x80:
                size, position = size + (frame[position] - 1 << 7), position + 1
                if size >= 1 << 14:  # more than two bytes of a varint
                    size, position = read_unsigned_varint(frame, end)
            stop = position + size - 1
            batch = frame[position:stop]
            if batch[ATTRIBUTES_POSITION] & TRANSACTIONAL or frame[stop:] != _NO_TAGS:
                return None
        except (IndexError, MalformedRequest):
            return None
        if self._unopened:
            return None
        head_bytes = bytes(frame[_ID_POSITION:end])
        try:
            head = self._heads[head_bytes]
        except KeyError:
            head = self._learn(frame, head_bytes)
        if head is None:
            return None
        if self._by_id and not is_current(self._metadata, head.topic_id, head.key[0]):
            return None
        return self._appends.append_one(
            head.key, batch, head.acks, head.timeout_ms, head.respond, head.is_admin
        )

    def _learn(self, frame: memoryview, head_bytes: bytes) -> ProduceHead | None:
        """What these bytes say; None, and known as such, if it is not the usual."""
        if len(head_bytes) > _HEAD_SIZE_MAX or not self._known.has_room():
            return None
        try:
            header, position = decode_request_header(frame)
            request, _ = decoder(ProduceRequest, self._version)(frame, position)
        except MalformedRequest:
            return None  # the long way will say so
        head = self._head_of(request, header.client_id, head_bytes)
        self._heads[head_bytes] = head
        return head

    def _head_of(
        self, request: ProduceRequest, client_id: str | None, head_bytes: bytes
    ) -> ProduceHead | None:
        if request.transactional_id is not None or request.acks not in (1, ACKS_ALL):
            return None
        if [len(topic.partition_data) for topic in request.topic_data] != [1]:
            return None
        (topic,) = request.topic_data
        name: str | None = topic.name
        if self._by_id:
            known = self._metadata.by_id(topic.topic_id)
            name = None if known is None else known.name
        if name is None or _bytes_of_head(request, client_id, self._version) != (
            head_bytes
        ):
            return None
        return ProduceHead(self._version, client_id, request, name)


def _bytes_of_head(
    request: ProduceRequest, client_id: str | None, version: int
) -> bytes:
    """What stands before the batch when it is written as everybody does."""
    (topic,) = request.topic_data
    bare = PartitionProduceData(index=topic.partition_data[0].index, records=None)
    request = ProduceRequest(
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
