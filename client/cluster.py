"""The brokers of a cluster: a connection to each that is asked, and who does what.

Blocking, for one thread. A broker that cannot be reached is an error at once; a
coordinator that is moving, loading or not yet there is asked again until
``timeout_s`` have passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from odradek.protocol.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    MalformedRequest,
    NotCoordinator,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import MetadataResponse

from .address import Address
from .connection import Connection
from .errors import NoAnswer, TlsFailed, Unreachable, raise_for
from .metadata import NO_LEADER, Broker, Metadata, metadata_request, read_metadata
from .retry import Retry

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from odradek.protocol.schema import Request, Response
    from odradek.protocol.topic_partition import TopicPartition

    from .metadata import Topic
    from .security.settings import Security

_Response = TypeVar("_Response", bound="Response")
Result = TypeVar("Result")

ANY_NODE = -1  # whichever of the bootstrap servers answers
# What a coordinator is for, as FindCoordinator numbers it.
GROUP = 0
TRANSACTION = 1


class Pending(Generic[_Response]):
    """An answer to come: received once, or given up together with its connection."""

    def __init__(
        self,
        connection: Connection,
        request: Request,
        response_class: type[_Response],
        version: int,
        on_error: Callable[[BaseException], None],
    ) -> None:
        self.version = version
        self._connection = connection
        self._response_class = response_class
        self._on_error = on_error
        try:
            self._correlation_id = connection.send(request, version)
        except BaseException as error:
            on_error(error)
            raise

    def receive(self) -> _Response:
        """Wait for it.

        Raises:
            NoAnswer: it took longer than the cluster's ``timeout_s``.
            ConnectionError: the connection has ended.
        """
        try:
            return self._connection.receive_answer(
                self._correlation_id, self._response_class, self.version
            )
        except BaseException as error:
            self._on_error(error)
            raise

    def give_up(self) -> None:
        """Nobody wants the answer any more."""
        self._on_error(GeneratorExit())


class Cluster:
    """Asks brokers of one cluster, of which it is told some addresses."""

    def __init__(
        self,
        bootstrap: Sequence[Address],
        *,
        client_id: str = "odradek",
        timeout_s: float = 30,
        retry: Retry | None = None,
        security: Security | None = None,
    ) -> None:
        """Nothing is connected before something is asked."""
        self.timeout_s = timeout_s
        self.retry = retry or Retry(timeout_s)
        self._bootstrap = list(bootstrap)
        self._client_id = client_id
        self.security = security
        self._brokers: dict[int, Broker] = {}
        self._topics: dict[str, Topic] = {}  # as they were told last
        self._connections: dict[int, tuple[Address, Connection]] = {}
        self._coordinators: dict[tuple[int, str], Broker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        connections, self._connections = self._connections, {}
        for _, connection in connections.values():
            connection.close()

    def request(
        self,
        request: Request,
        response_class: type[_Response],
        node_id: int = ANY_NODE,
        version_max: int | None = None,
    ) -> _Response:
        """The answer of that broker, in the highest version that both know.

        Raises:
            Unreachable: there is no connection to it.
            NoAnswer: it took longer than ``timeout_s``.
            UnsupportedVersion: it does not know this request.
        """
        return self.send(request, response_class, node_id, version_max).receive()

    def send(
        self,
        request: Request,
        response_class: type[_Response],
        node_id: int = ANY_NODE,
        version_max: int | None = None,
    ) -> Pending[_Response]:
        """Ask without waiting. Nothing else may be asked there before the answer.

        Raises:
            Unreachable, UnsupportedVersion: as `request`.
        """
        address, connection = self._connected(node_id)
        version = connection.version_of(request, version_max)

        def on_error(error: BaseException) -> None:
            # Whose answer would come next on it, nobody could say.
            connection.close()
            if self._connections.get(node_id) == (address, connection):
                del self._connections[node_id]
            if isinstance(error, TimeoutError):
                raise NoAnswer(f"{address}: {self._reason(error)}") from None

        return Pending(connection, request, response_class, version, on_error)

    def version_of(self, request: Request, node_id: int = ANY_NODE) -> int:
        """The highest version of this request that both sides know.

        Raises:
            UnsupportedVersion: there is none.
        """
        return self._connected(node_id)[1].version_of(request)

    def features(self) -> Mapping[str, int]:
        """The features that the cluster has agreed on, with their levels."""
        return self._connected(ANY_NODE)[1].features

    def open_connection(self, node_id: int) -> Connection:
        """A connection of the caller's own, for requests that are sent ahead.

        Raises:
            Unreachable: there is none to that broker.
        """
        return self._connect(node_id)[1]

    def metadata(
        self, topics: Collection[str] | None = None, *, creates_topics: bool = False
    ) -> Metadata:
        """The brokers, and these topics, or all.

        With ``creates_topics`` a broker that makes topics when they are named
        (auto.create.topics.enable) makes those that are missing.
        """
        request = metadata_request(topics, creates_topics=creates_topics)
        metadata = self.retry.run(
            lambda: read_metadata(self.request(request, MetadataResponse)), _is_lost
        )
        self._brokers.update(metadata.brokers)
        if topics is None:
            self._topics.clear()
        for name in metadata.failed:
            self._topics.pop(name, None)
        self._topics.update(metadata.topics)
        return metadata

    def known_leader(self, place: TopicPartition) -> int | None:
        """Who led it when its topic was asked for last; None if that is not known."""
        topic = self._topics.get(place.topic)
        leader = NO_LEADER if topic is None else topic.leaders.get(place.partition)
        return None if leader == NO_LEADER else leader

    def coordinator(self, key: str, kind: int = GROUP) -> Broker:
        """The broker that coordinates a group, or a transaction, once there is one.

        Raises:
            KafkaError: the broker refuses to say, or there is none yet.
        """
        return self.at_coordinator(key, lambda broker: broker, kind)

    def at_coordinator(
        self,
        key: str,
        attempt: Callable[[Broker], Result],
        kind: int = GROUP,
        timeout_s: float | None = None,
    ) -> Result:
        """What ``attempt`` returns, which asks that broker.

        It is called again when the coordinator has moved or is loading, and when
        the connection was lost: it may then have been done already. That goes on for
        ``timeout_s``, by default the cluster's.
        """

        def once() -> Result:
            broker = self._find_coordinator(key, kind)
            try:
                return attempt(broker)
            except Unreachable as error:
                self._coordinators.pop((kind, key), None)
                if isinstance(error, TlsFailed) or len(self._brokers) < 2:
                    raise
                # The others think that it is there: soon they will know better.
                raise CoordinatorNotAvailable(str(error)) from error
            except (NotCoordinator, CoordinatorNotAvailable, ConnectionError):
                self._coordinators.pop((kind, key), None)
                raise

        return self.retry.run(once, may_pass, timeout_s)

    def _find_coordinator(self, key: str, kind: int) -> Broker:
        if (kind, key) in self._coordinators:
            return self._coordinators[kind, key]
        # One key until version 3, many from version 4 on.
        request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
        response = self.request(request, FindCoordinatorResponse)
        found = response.coordinators[0] if response.coordinators else response
        raise_for(found.error_code, found.error_message)
        broker = Broker(found.node_id, Address(found.host, found.port))
        self._brokers[broker.node_id] = broker
        self._coordinators[kind, key] = broker
        return broker

    def _connected(self, node_id: int) -> tuple[Address, Connection]:
        known = self._connections.get(node_id)
        if known is None:
            known = self._connect(node_id)
            self._connections[node_id] = known
        return known

    def _connect(self, node_id: int) -> tuple[Address, Connection]:
        broker = self._brokers.get(node_id)
        if broker is not None:
            try:
                return broker.address, self._open(broker.address)
            except OSError as error:
                reason = f"broker {broker}: {self._reason(error)}"
                raise _like(error, reason) from error
        reasons, last = [], OSError()
        for address in self._bootstrap:
            try:
                return address, self._open(address)
            except OSError as error:
                reasons.append(f"{address}: {self._reason(error)}")
                last = error
        raise _like(last, "; ".join(reasons)) from last

    def _open(self, address: Address) -> Connection:
        try:
            return Connection(
                *address,
                client_id=self._client_id,
                timeout_s=self.timeout_s,
                security=self.security,
            )
        except MalformedRequest as error:
            raise MalformedRequest(f"{address}: {error}") from None
        except UnicodeError as error:  # a host name with a part that is too long
            raise OSError(str(error)) from error

    def _reason(self, error: OSError) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer in {self.timeout_s:g} s"
        return error.strerror or str(error)


def _like(error: OSError, reason: str) -> Unreachable:
    if isinstance(error, TlsFailed):
        return TlsFailed(reason, error.verify_code, error.cause)
    return Unreachable(reason)


def _is_lost(error: Exception) -> bool:
    """Whether a new connection may do better: the old one has ended."""
    return isinstance(error, ConnectionError) and not isinstance(error, Unreachable)


def may_pass(error: Exception) -> bool:
    """Whether a coordinator may do better when it is asked again."""
    passing = (CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator)
    return isinstance(error, passing) or _is_lost(error)
