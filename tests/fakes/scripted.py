"""Brokers on real sockets that answer as a test scripts it, for tests of clients."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.retry import Retry
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_request_header, encode_response
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.schema import REQUESTS, Request, Response
from tests.fakes.waiting import Waiting
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    import ssl

HOST = "127.0.0.1"

Answer = Callable[[Any, int], Response | None]  # (request, version); None: hang up


class ScriptedBroker:
    """One broker: what it answers, in which versions, and what it was asked."""

    def __init__(self, node_id: int, cluster: "ScriptedCluster") -> None:
        self.tls: ssl.SSLContext | None = None
        self.node_id = node_id
        self.answers: dict[type[Request], Answer] = {
            MetadataRequest: lambda asked, _: cluster.metadata(asked),
            FindCoordinatorRequest: cluster.find_coordinator,
        }
        self.versions: dict[type[Request], int] = {}  # the highest, where not all
        self.asked: list[Request] = []
        self._server = socket.create_server((HOST, 0))
        self.address = Address(HOST, self._server.getsockname()[1])
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def asked_for(self, kind: type[Request]) -> int:
        return sum(isinstance(request, kind) for request in self.asked)

    def close(self) -> None:
        """Nobody answers at its address from now on."""
        with contextlib.suppress(OSError):  # the second time
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._server.accept()
                connection.settimeout(PATIENCE_S)
                self._open.append(connection)
                thread = threading.Thread(
                    target=self._serve, args=(connection,), daemon=True
                )
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            self._converse(connection)
        connection.close()

    def _converse(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as received:
            while prefix := received.read(4):
                (size,) = struct.unpack(">i", prefix)
                frame = memoryview(received.read(size))
                header, position = decode_request_header(frame)
                version = header.api_version
                kind = REQUESTS[header.api_key]
                request = kind.decode(frame[position:], version)
                self.asked.append(request)
                answer = self._answer(request, version)
                if answer is None:
                    return
                data = encode_response(answer, version, header.correlation_id)
                connection.sendall(b"".join(data))

    def _answer(self, request: Request, version: int) -> Response | None:
        if isinstance(request, ApiVersionsRequest):
            known = [ApiVersionsRequest, *self.answers]
            return ApiVersionsResponse(
                api_keys=[
                    ApiVersion(
                        api_key=kind.api_key,
                        min_version=min(
                            kind.min_version, self.versions.get(kind, kind.min_version)
                        ),
                        max_version=self.versions.get(kind, kind.max_version),
                    )
                    for kind in known
                ]
            )
        return self.answers[type(request)](request, version)


class ScriptedCluster:
    """Some brokers, the leaders of partitions, and who coordinates all groups."""

    def __init__(self, count: int) -> None:
        self.leaders: dict[str, list[int]] = {}
        self.coordinator_errors: list[ErrorCode] = []  # answered one by one, first
        self.coordinator = 1
        self.brokers = {n: ScriptedBroker(n, self) for n in range(1, count + 1)}
        self.time = Waiting()

    def script(self, kind: type[Request], answer: Answer) -> None:
        """Every broker answers this so."""
        for broker in self.brokers.values():
            broker.answers[kind] = answer

    def limit(self, kind: type[Request], version: int) -> None:
        """Every broker knows this up to that version only."""
        for broker in self.brokers.values():
            broker.versions[kind] = version

    def client(self, *bootstrap: Address, timeout_s: float | None = None) -> Cluster:
        """A client that is told broker 1, and whose waiting takes no time.

        It tries again for 5 s of that; an answer may take as long as ever.
        """
        retry = Retry(timeout_s or 5, self.time.monotonic, self.time.sleep)
        told = bootstrap or (self.brokers[1].address,)
        return Cluster(told, timeout_s=timeout_s or PATIENCE_S, retry=retry)

    def metadata(self, asked: MetadataRequest) -> MetadataResponse:
        wanted = asked.topics
        names = self.leaders if wanted is None else [each.name for each in wanted]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(
                    node_id=each.node_id, host=HOST, port=each.address.port
                )
                for each in self.brokers.values()
            ],
            topics=[self._topic(name or "") for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.leaders:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return MetadataResponseTopic(error_code=unknown, name=name, partitions=[])
        return MetadataResponseTopic(
            name=name,
            partitions=[
                MetadataResponsePartition(partition_index=number, leader_id=leader)
                for number, leader in enumerate(self.leaders[name])
            ],
        )

    def find_coordinator(
        self, asked: FindCoordinatorRequest, version: int
    ) -> FindCoordinatorResponse:
        port = self.brokers[self.coordinator].address.port
        found: dict[str, Any] = {"node_id": self.coordinator, "host": HOST}
        found["port"] = port
        if self.coordinator_errors:
            found["error_code"] = self.coordinator_errors.pop(0)
        if version < 4:
            return FindCoordinatorResponse(**found)
        (key,) = asked.coordinator_keys
        return FindCoordinatorResponse(coordinators=[Coordinator(key=key, **found)])


@contextlib.contextmanager
def scripted_cluster(count: int = 1) -> Iterator[ScriptedCluster]:
    """Brokers 1 to ``count``."""
    cluster = ScriptedCluster(count)
    try:
        yield cluster
    finally:
        for broker in cluster.brokers.values():
            broker.close()
