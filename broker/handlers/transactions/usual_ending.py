"""Answers, on a short way, EndTxn as a producer sends it again and again.

All of it is the same from one transaction to the next, but for the epoch, which the
second protocol raises with each: so the rest is decoded once, and known from then on.
Everything else, and whatever is wrong with it, is left to `transactions`.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.end import Ending
from odradek.broker.requests.known_requests import KnownAnswer, KnownRequests
from odradek.broker.requests.registry import shortcut
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.headers import (
    decode_request_header,
    encode_request,
    encode_response,
)
from odradek.protocol.messages.transactions import EndTxnRequest, EndTxnResponse

from .transactions import FIRST_VERSION_WITH_EPOCH_BUMP, refuse_end

if TYPE_CHECKING:
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.services import Services
    from odradek.broker.requests.short_ways import ShortWays

_SIZE_MAX = 1024
_ID_POSITION, _SAID_POSITION = 4, 8  # in a frame; what is said begins with a client id
_LENGTH_SIZE = 4
_EPOCH = Struct(">h")
_COMMITTED_SIZE = _TAGS_SIZE = 1  # what is behind the epoch
_PRODUCER = Struct(">qh")  # in an answer, before its tags
_new = tuple.__new__


class KnownEnding(KnownAnswer):
    """What a producer says at the end of each transaction, and the answer to it."""

    __slots__ = ("_ending", "refuse", "tell")

    def __init__(self, version: int, request: EndTxnRequest) -> None:
        bumps_epoch = version >= FIRST_VERSION_WITH_EPOCH_BUMP
        self._ending = Ending(
            request.transactional_id,
            ProducerIdentity(request.producer_id, request.producer_epoch),
            request.committed,
            bumps_epoch,
        )
        self.refuse = partial(refuse_end, version)
        super().__init__(encode_response(EndTxnResponse(), version, 0))
        self.tell = self._tell_who if bumps_epoch else self._tell

    @property
    def transactional_id(self) -> str:
        """Whose it is."""
        return self._ending.transactional_id

    @property
    def producer_id(self) -> int:
        """Of whichever epoch."""
        return self._ending.producer.producer_id

    def ending(self, epoch: int) -> Ending:
        """What a request with that epoch says."""
        known = self._ending
        transactional_id, producer, is_commit, bumps_epoch = known
        if producer[1] != epoch:
            producer = _new(ProducerIdentity, (producer[0], epoch))
            fields = transactional_id, producer, is_commit, bumps_epoch
            self._ending = known = _new(Ending, fields)
        return known

    # The body of the answer; ``producer`` is who may write from now on.

    def _tell(self, producer: ProducerIdentity) -> bytes:
        return self.body

    def _tell_who(self, producer: ProducerIdentity) -> bytes:
        said = bytearray(self.body)
        _PRODUCER.pack_into(said, len(said) - _TAGS_SIZE - _PRODUCER.size, *producer)
        return bytes(said)


@shortcut(EndTxnRequest, first_version=0)
class UsualEnding:
    """Answers requests of one version; knows by its bytes what they say."""

    __slots__ = ("_behind", "_endings", "_known", "_services", "_version", "_ways")

    def __init__(self, services: Services, version: int, ways: ShortWays) -> None:
        self._version = version
        self._ways = ways
        self._services = services
        has_tags = EndTxnRequest.is_flexible(version)
        self._behind = _COMMITTED_SIZE + _TAGS_SIZE * has_tags
        self._known: KnownRequests[KnownEnding] = KnownRequests(self._is_gone)
        self._endings = self._known.by_bytes

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        """The answer, or a `Parked` one; None for what takes the long way."""
        if len(frame) > _SIZE_MAX:
            return None
        behind = len(frame) - self._behind
        place = behind - _EPOCH.size
        said = bytes(frame[_SAID_POSITION:place]) + frame[behind:]
        known = self._endings.get(said)
        if known is None:
            self._learn(frame, said)
            return None
        (epoch,) = _EPOCH.unpack_from(frame, place)
        answer: Any = self._services.transactions.end(
            known.ending(epoch), known.tell, known.refuse
        )
        if type(answer) is bytes:
            return known.frame(bytes(frame[_ID_POSITION:_SAID_POSITION]), answer)
        return answer

    def _is_gone(self, known: KnownEnding) -> bool:
        """Whether its transactional id has another producer by now."""
        transactional_id = known.transactional_id
        shard = self._services.transactions.runtime.settled(transactional_id)
        found = None if shard is None else shard.get(transactional_id)
        return found is not None and found.producer_id != known.producer_id

    def _learn(self, frame: memoryview, said: bytes) -> None:
        """Know it when it comes again, if it is the usual."""
        if not self._known.has_room():
            return
        try:
            header, position = decode_request_header(frame)
            request, _ = decoder(EndTxnRequest, self._version)(frame, position)
        except MalformedRequest:
            return  # the long way will say so
        if self._is_usual(header.client_id, request, frame):
            self._endings[said] = KnownEnding(self._version, request)

    def _is_usual(
        self, client_id: str | None, request: EndTxnRequest, frame: memoryview
    ) -> bool:
        """Whether it is written as everybody does, by somebody who may."""
        plain = EndTxnRequest(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            committed=request.committed,
        )  # without fields that nobody knows
        written = encode_request(plain, self._version, client_id=client_id)
        return (
            written[_LENGTH_SIZE + _SAID_POSITION :] == frame[_SAID_POSITION:]
            and self._ways.admits(client_id, request)
            and self._ways.allows(
                Operation.WRITE,
                ResourceType.TRANSACTIONAL_ID,
                request.transactional_id,
            )
        )
