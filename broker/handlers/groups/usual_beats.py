"""Answers, on a short way, the heartbeats of members of whom there is nothing new.

A member says every few seconds that it lives, by the same bytes each time, and is told
the same as long as nothing happens to its group. So what it says is decoded once, and
known by its bytes from then on; what is left is to see that nothing has happened
(``is_steady``), and to put off the end of its session. In all other cases the handler
of the API is called, as it is for the first one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from odradek.broker.requests.known_requests import KnownRequests
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder, encoder
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.headers import decode_request_header, has_flexible_header

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.steady import Steady
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.services import Services
    from odradek.broker.requests.short_ways import ShortWays
    from odradek.protocol.schema import Request, Response

_SIZE_MAX = 1024
_ID = Struct(">i")
_ID_POSITION, _SAID_POSITION = 4, 8  # in a frame; what is said begins with a client id
_HEAD = Struct(">ii")  # of an answer: its length without this, the correlation id
_LENGTH_SIZE = 4


class KnownBeat:
    """What a member says again and again, from where, and what it is told."""

    __slots__ = ("answer", "peer_host", "size", "steady")

    def __init__(self, steady: Steady, peer_host: str, answer: bytes) -> None:
        self.steady = steady
        self.peer_host = peer_host
        self.answer = answer
        self.size = _HEAD.size - _LENGTH_SIZE + len(answer)


class UsualBeat(ABC):
    """Answers requests of one version; what is of one API only, its class says."""

    __slots__ = ("_beats", "_groups", "_known", "_services", "_version", "_ways")

    request_class: ClassVar[type[Request]]

    def __init__(self, services: Services, version: int, ways: ShortWays) -> None:
        self._services = services
        self._version = version
        self._ways = ways
        self._groups = services.groups
        self._known: KnownRequests[KnownBeat] = KnownRequests(self._is_gone)
        self._beats = self._known.by_bytes

    def __call__(self, connection: ConnectionInfo, frame: memoryview) -> Any:
        """The whole answer; None for what takes the long way."""
        if len(frame) > _SIZE_MAX:
            return None
        said = bytes(frame[_SAID_POSITION:])
        known = self._beats.get(said)
        if known is None:
            self._learn(connection, frame, said)
            return None
        steady = known.steady
        shard = self._groups.settled(steady.group_id)
        if (
            shard is None
            or known.peer_host != connection.peer_host
            or not self.is_steady(shard, steady)
            or not shard.timers.put_off(steady.session_key, steady.timeout_ms)
        ):
            return None
        (correlation_id,) = _ID.unpack_from(frame, _ID_POSITION)
        return _HEAD.pack(known.size, correlation_id) + known.answer

    # What the API says

    @staticmethod
    @abstractmethod
    def is_steady(shard: GroupShard, said: Steady) -> bool:
        """Whether its member may go on, and is told what it was told before."""

    @abstractmethod
    def read(
        self,
        shard: GroupShard,
        request: Any,
        client_id: str | None,
        connection: ConnectionInfo,
    ) -> tuple[Steady, Response] | None:
        """What ``request`` says, and what it is told; None: it is not the usual."""

    # Learning

    def _is_gone(self, known: KnownBeat) -> bool:
        shard = self._groups.settled(known.steady.group_id)
        return shard is None or not self.is_steady(shard, known.steady)

    def _learn(
        self, connection: ConnectionInfo, frame: memoryview, said: bytes
    ) -> None:
        """Know these bytes from now on, if they are the usual."""
        try:
            header, position = decode_request_header(frame)
            decode = decoder(self.request_class, self._version)
            request: Any = decode(frame, position)[0]
        except MalformedRequest:
            return  # the long way will say so
        shard = self._groups.settled(request.group_id)
        if shard is None or not self._may(header.client_id, request):
            return
        found = self.read(shard, request, header.client_id, connection)
        if found is None or not self.is_steady(shard, found[0]):
            return
        if self._known.has_room():
            steady, response = found
            answer = _behind_head(response, self._version)
            self._beats[said] = KnownBeat(steady, connection.peer_host, answer)

    def _may(self, client_id: str | None, request: Any) -> bool:
        ways = self._ways
        return ways.admits(client_id, request) and ways.allows(
            Operation.READ, ResourceType.GROUP, request.group_id
        )


def _behind_head(response: Response, version: int) -> bytes:
    """The frame of a response, from behind the correlation id on."""
    cls = type(response)
    tags = b"\0" if has_flexible_header(cls, version) else b""
    return tags + b"".join(encoder(cls, version)(response))
