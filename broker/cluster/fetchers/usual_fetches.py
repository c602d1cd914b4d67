"""Fetches in a session, and their answers, as bytes: where nothing is special.

Of two requests mostly a few numbers differ, and an answer mostly has records and
offsets: so these are packed and read as they lie there, and the rest is remembered.
`fetch_request` and the declarations of the messages say the same of any request and
any answer, and serve for all others.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.primitives import read_unsigned_varint

from .fetch_session_handler import SessionRequest
from .leader_requests import fetch_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.client.connection import Connection

    from .fetch_settings import FetchSettings

# The versions of Fetch that are written alike, of brokers of Apache Kafka 4.
_VERSIONS: Final = range(17, 19)
# A request about so many partitions fits into what a socket takes at once; and a count
# up to that is one byte.
NAMED_MAX: Final = 100

_HEAD: Final = 4  # behind the length: API and version
_CORRELATION_ID: Final = 4
_CLIENT_ID: Final = 2  # its length
_BEFORE_SESSION: Final = 1 + 4 + 4 + 4 + 1  # tags, times and sizes, isolation
_SESSION: Final = 4 + 4
_NO_TOPICS: Final = 1

_LENGTH = Struct(">i")
_SESSION_FIELDS = Struct(">ii")
# Index, leader epoch, offset, last epoch, log start, size and tags.
_PARTITION = Struct(">iiqiqiB")
# Correlation id, tags, throttle time, error, session, number of topics.
_ANSWER = Struct(">iBihiB")
_TOPIC = Struct(">16sB")  # and its number of partitions
# Index, error, high watermark, last stable offset, log start, aborted transactions,
# preferred replica.
_RESULT = Struct(">ihqqqBi")
_FEW: Final = 0x80  # a count or a length below that is one byte
_NONE_ABORTED: Final = (0, 1)  # null, or an empty list


class UsualAnswer(NamedTuple):
    """What was read of one partition; ``batches``: there are some."""

    topic_id: bytes
    partition: int
    high_watermark: int
    log_start_offset: int
    batches: memoryview | None


_new = tuple.__new__


class UsualFetches:
    """Writes the requests of one fetcher."""

    def __init__(self, node_id: int, settings: FetchSettings) -> None:
        self._node_id = node_id
        self._settings = settings
        self._written_for: tuple[int, str, int] | None = None
        self._head = self._middle = self._tail = b""

    def request(
        self, connection: Connection, broker_epoch: int, said: SessionRequest
    ) -> bytes | None:
        """The whole request, its session's epoch as correlation id.

        None where it has to be written by `fetch_request`: to begin a session, to take
        something out of it, to name very much, or for another version.
        """
        named = said.named
        if not said.epoch or said.forgotten or len(named) > NAMED_MAX:
            return None
        version = self.version_of(connection)
        if version not in _VERSIONS:
            return None
        written_for = version, connection.client_id, broker_epoch
        if written_for != self._written_for:
            self._remember(*written_for)
        by_topic: dict[bytes, list[bytes]] = {}
        for _, topic_id, *fields in named:
            by_topic.setdefault(topic_id, []).append(_PARTITION.pack(*fields, 0))
        parts = [
            self._head,
            _LENGTH.pack(said.epoch),
            self._middle,
            _SESSION_FIELDS.pack(said.session_id, said.epoch),
            bytes((len(by_topic) + 1,)),
        ]
        for topic_id, partitions in by_topic.items():
            parts += topic_id, bytes((len(partitions) + 1,)), *partitions, b"\0"
        body = b"".join((*parts, self._tail))
        return _LENGTH.pack(len(body)) + body

    def version_of(self, connection: Connection) -> int:
        """That in which the broker at its other end is asked."""
        _, highest = connection.api_versions.get(ApiKey.FETCH, (0, 0))
        return min(highest, _VERSIONS[-1])

    def _remember(self, version: int, client_id: str, broker_epoch: int) -> None:
        empty = fetch_request(
            self._node_id, broker_epoch, SessionRequest(0, 0, [], []), self._settings
        )
        written = encode_request(empty, version, 0, client_id)[_LENGTH.size :]
        behind_id = _HEAD + _CORRELATION_ID
        session = behind_id + _CLIENT_ID + len(client_id.encode()) + _BEFORE_SESSION
        self._head, self._middle = written[:_HEAD], written[behind_id:session]
        self._tail = written[session + _SESSION + _NO_TOPICS :]
        self._written_for = version, client_id, broker_epoch


def usual_answers(
    frame: memoryview, correlation_id: int, session_id: int
) -> list[UsualAnswer] | None:
    """What an answer to such a request says of each partition, if nothing is special.

    None where anything is, such as an error, or an offset at which histories part.
    """
    found = []
    try:
        answered_id, tags, _, error, session, topics = _ANSWER.unpack_from(frame)
        if (answered_id, tags, error, session) != (
            correlation_id,
            0,
            0,
            session_id,
        ) or not 0 < topics < _FEW:
            return None
        position = _ANSWER.size
        for _ in range(topics - 1):
            topic_id, partitions = _TOPIC.unpack_from(frame, position)
            position += _TOPIC.size
            if not 0 < partitions < _FEW:
                return None
            for _ in range(partitions - 1):
                index, error, high, _, start, aborted, _ = _RESULT.unpack_from(
                    frame, position
                )
                size, begin = read_unsigned_varint(frame, position + _RESULT.size)
                end = begin + max(0, size - 1)
                if error or aborted not in _NONE_ABORTED or frame[end]:
                    return None
                batches = frame[begin:end] if end > begin else None
                found.append(_new(UsualAnswer, (topic_id, index, high, start, batches)))
                position = end + 1
            if frame[position]:
                return None
            position += 1
    except (IndexError, MalformedRequest, struct_error):
        return None
    return found if bytes(frame[position:]) == b"\0" else None


def response_of(session_id: int, left: Iterable[UsualAnswer]) -> FetchResponse:
    """An answer that says this of some partitions, and nothing of others."""
    return FetchResponse(
        throttle_time_ms=0,
        error_code=0,
        session_id=session_id,
        responses=[
            FetchableTopicResponse(
                topic_id=each.topic_id,
                partitions=[
                    PartitionData(
                        partition_index=each.partition,
                        error_code=0,
                        high_watermark=each.high_watermark,
                        log_start_offset=each.log_start_offset,
                        records=each.batches,
                    )
                ],
            )
            for each in left
        ],
    )
