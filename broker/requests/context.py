"""What a handler knows about a request besides its body: who asks, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.broker.metadata.client_quotas import ANONYMOUS
from odradek.protocol.api_keys import ApiKey

from .needs import DENIED
from .short_ways import NO_SHORT_WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.metadata.access.access import Access

    from .services import Services
    from .short_ways import ShortWays

_USER = "User:"  # the type of principal that there is
NOBODY = _USER + ANONYMOUS  # who has not said who it is


def _nothing() -> None:
    """Close no connection: for contexts that have none."""


def _ignore(wait_ms: int) -> None:
    """Mute no connection: for contexts that have none."""


@dataclass(slots=True)
class ConnectionInfo:
    """The two ends of a connection, shared by all its requests."""

    listener_name: str = "PLAINTEXT"
    local_host: str = "127.0.0.1"
    local_port: int = 9092
    peer_host: str = "127.0.0.1"
    peer_port: int = 0
    client_software_name: str = ""
    client_software_version: str = ""
    close: Callable[[], None] = _nothing
    mute: Callable[[int], None] = _ignore
    principal: str = NOBODY
    is_by_token: bool = False  # logged in by a delegation token
    short_ways: ShortWays = NO_SHORT_WAYS
    _when_lost: dict[Callable[[ConnectionInfo], object], None] | None = None

    @property
    def user(self) -> str:
        """The principal, without its type: what quotas know."""
        return self.principal.removeprefix(_USER)

    @property
    def is_open(self) -> bool:
        """Whether the connection is there."""
        return self.close is not _nothing

    def become(self, principal: str) -> None:
        """The client has shown who it is: nothing is remembered of who it was."""
        self.principal = principal
        self.short_ways = NO_SHORT_WAYS

    @classmethod
    def of(
        cls,
        listener_name: str,
        own: Any,
        peer: Any,
        close: Callable[[], None],
        mute: Callable[[int], None],
    ) -> ConnectionInfo:
        """Of a connection that has just been opened, by the addresses of both ends."""
        ends = own[0], own[1], peer[0], peer[1]
        return cls(listener_name, *ends, close=close, mute=mute)

    def forget_connection(self) -> None:
        """The connection is gone, though some of its requests may still run."""
        self.close, self.mute = _nothing, _ignore
        actions, self._when_lost = self._when_lost, None
        for action in actions or ():
            action(self)

    def when_lost(self, action: Callable[[ConnectionInfo], object]) -> None:
        """Call ``action`` with this once it is gone; it must leave work for later."""
        if self._when_lost is None:
            self._when_lost = {}
        self._when_lost[action] = None


class RequestContext:
    """One request: its header, its connection, and the services of the broker."""

    __slots__ = (
        "api_key",
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "services",
    )

    def __init__(
        self,
        services: Services,
        connection: ConnectionInfo,
        api_key: int,
        api_version: int,
        correlation_id: int = 0,
        client_id: str | None = None,
    ) -> None:
        self.services = services
        self.connection = connection
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    # What the client may do. Without an authorizer that is everything.

    @property
    def access(self) -> Access | None:
        """The client's rights as they are now; None: there is no authorizer."""
        authorizer = self.services.authorizer
        if authorizer is None:
            return None
        connection = self.connection
        return authorizer.access_of(connection.principal, connection.peer_host)

    def sees(self, operation: int, resource_type: int, name: str) -> bool:
        """Whether the client may; nobody is told when it may not."""
        access = self.access
        return access is None or access.may(operation, resource_type, name)

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """Whether the client may; the audit is told when it may not."""
        authorizer = self.services.authorizer
        if authorizer is None:
            return True
        principal, host = self.connection.principal, self.connection.peer_host
        access = authorizer.access_of(principal, host)
        if access.may(operation, resource_type, name):
            return True
        from odradek.broker.metadata.access.denials import Denial  # few brokers deny

        what = operation, resource_type, name, self.api_name
        authorizer.denials.note(access, Denial(principal, host, *what))
        return False

    def require(self, operation: int, resource_type: int, name: str) -> None:
        """See that the client may.

        Raises:
            KafkaError: it may not; of the kind that belongs to the type.
        """
        if not self.may(operation, resource_type, name):
            raise DENIED[resource_type]()

    def operations(self, resource_type: int, name: str, known: int) -> int:
        """Those of the ``known`` operations that the client may do, as bits."""
        access = self.access
        if access is None:
            return known
        return known & access.operations(resource_type, name)

    @property
    def api_name(self) -> str:
        """The API that is asked, for people."""
        return ApiKey(self.api_key).name.title().replace("_", "")

    @property
    def listener_name(self) -> str:
        """The name of the listener that the client connected to."""
        return self.connection.listener_name

    @property
    def local_host(self) -> str:
        """The address of ours that the client connected to."""
        return self.connection.local_host

    @property
    def local_port(self) -> int:
        """The port of ours that the client connected to."""
        return self.connection.local_port

    @property
    def advertised_address(self) -> tuple[str, int]:
        """Where the client is told to connect: as configured, else where it did."""
        configured = self.services.config.advertised_address(self.listener_name)
        return configured or (self.local_host, self.local_port)

    def known_brokers(self) -> Iterable[tuple[int, str, int, str | None]]:
        """Id, host, port and rack of the brokers that the client may ask."""
        services = self.services
        if services.cluster is not None:
            return services.cluster.brokers(self.listener_name)
        host, port = self.advertised_address
        return [(services.node_id, host, port, services.config.broker_rack)]

    @property
    def client(self) -> str:
        """Who asks, for people: the client id, the software, the address."""
        connection = self.connection
        software = (
            f"{connection.client_software_name} {connection.client_software_version}"
        )
        known = f" ({software.strip()})" if software.strip() else ""
        return (
            f"{self.client_id or 'a client'}{known} at {connection.peer_host}:"
            f"{connection.peer_port}"
        )

    @property
    def principal(self) -> str:
        """Who the client is."""
        return self.connection.principal

    @property
    def peer_host(self) -> str:
        """The client's address."""
        return self.connection.peer_host

    def close_connection(self) -> None:
        """Close the client's connection once what is written has left."""
        self.connection.close()
