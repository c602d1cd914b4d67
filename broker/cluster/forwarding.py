"""What the controllers decide is sent on to them, in an envelope (KIP-590).

The request goes as the client has made it, with who the client is; the answer comes
back as the controller has made it. Of some requests the broker looks first at what the
controllers do not look at, because they trust it to.
"""

from __future__ import annotations

import ipaddress
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from odradek.broker.cluster.controller_channel import Controllers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import (
    ErrorCode,
    MalformedRequest,
    UnknownServerError,
    UnsupportedVersion,
)
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.brokers import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.primitives import unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from odradek.protocol.schema import Response

    SendOn = Callable[[Any, Any], Awaitable[bytes]]
    Look = Callable[[Any, Any, SendOn], Awaitable[Response | bytes]]

FORWARDED: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }
)
_LENGTH_SIZE: Final = 4
_HEADER_SIZE: Final = 4  # of an answer: the correlation id
_INT16: Final = Struct(">h")


class Connected(Protocol):
    """How the client has logged in."""

    is_by_token: bool


class Asker(Protocol):
    """A request's header, and the client that has sent it."""

    api_version: int
    correlation_id: int
    client_id: str | None

    @property
    def connection(self) -> Connected:
        """The connection of the client."""

    @property
    def principal(self) -> str:
        """Who it is."""

    @property
    def peer_host(self) -> str:
        """Where it is."""


class Versions(NamedTuple):
    """The versions in which an API is read."""

    api_key: int
    lowest: int
    highest: int


class ForwardedTo(Controllers, Protocol):
    """Who answers, and what they know."""

    @property
    def controller_versions(self) -> Mapping[int, tuple[int, int]]:
        """The lowest and highest version of each API of the one that leads."""


class Forwarding:
    """Sends on what this broker does not decide."""

    def __init__(
        self, controllers: ForwardedTo, looks: Mapping[int, Look] | None = None
    ) -> None:
        """``looks`` answers requests of some APIs, or sends them on."""
        self._controllers = controllers
        self._looks = looks or {}
        self._seen: Mapping[int, tuple[int, int]] = {}
        self._versions: tuple[Versions, ...] = ()

    @property
    def versions(self) -> tuple[Versions, ...]:
        """What is sent on, in the versions of the controller; none: not known yet."""
        known = self._controllers.controller_versions
        if known is not self._seen:
            self._seen = known
            self._versions = tuple(
                Versions(key, *known[key]) for key in sorted(FORWARDED) if key in known
            )
        return self._versions

    def takes(self, api_key: int) -> bool:
        """Whether requests of this API are for the controllers."""
        return api_key in FORWARDED

    async def forward(self, ctx: Asker, request: Any) -> Response | bytes:
        """The answer, or its body as the controller has made it.

        Raises:
            KafkaError: as `send_on`, or it is refused here.
        """
        look = self._looks.get(request.api_key)
        if look is None:
            return await self.send_on(ctx, request)
        return await look(ctx, request, self.send_on)

    async def send_on(self, ctx: Asker, request: Any) -> bytes:
        """The body of the controller's answer.

        Raises:
            RequestTimedOut: there was none.
            UnsupportedVersion: the controller does not know the request.
            UnknownServerError: it takes none from us.
        """
        version = ctx.api_version
        frame = encode_request(request, version, ctx.correlation_id, ctx.client_id)
        envelope = EnvelopeRequest(
            request_data=frame[_LENGTH_SIZE:],
            request_principal=principal_bytes(
                ctx.principal, ctx.connection.is_by_token
            ),
            client_host_address=ipaddress.ip_address(ctx.peer_host).packed,
        )
        try:
            answer = await self._controllers.ask_controller(envelope, EnvelopeResponse)
        except MalformedRequest as error:  # which the client has not made
            raise UnknownServerError(
                f"what the controller answers cannot be read: {error}"
            ) from error
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            raise UnsupportedVersion
        if answer.error_code or answer.response_data is None:
            raise UnknownServerError(
                f"the controller refuses what is sent on: error {answer.error_code}"
            )
        header_size = _HEADER_SIZE + request.is_flexible(version)
        return bytes(memoryview(answer.response_data)[header_size:])


def principal_bytes(principal: str, is_by_token: bool) -> bytes:
    """A principal as brokers and controllers write it for each other."""
    kind, _, name = principal.partition(":")
    texts = [each.encode() for each in (kind, name)]
    compact = b"".join(unsigned_varint(len(text) + 1) + text for text in texts)
    return _INT16.pack(0) + compact + bytes([is_by_token, 0])
