"""A whole broker with an authorizer, asked by frames as whoever the test wants."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.access import read_principals
from odradek.broker.node.server import Server
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.schema import RESPONSES, Request, Struct

ROOT = "User:root"
ALICE = "User:alice"
CODES = ("error_code", "partition_error_code", "topic_config_error_code")


class GuardedBroker:
    """``become`` puts other entries in the place of all, as a commit would."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.dispatcher = server._network.dispatcher
        self._connections: dict[tuple[str, str], ConnectionInfo] = {}

    def become(self, *entries: AclEntry) -> None:
        authorizer = self.server.services.authorizer
        assert authorizer is not None
        authorizer.acls._entries = dict.fromkeys(entries)
        authorizer._renew()

    def connection(self, principal: str, host: str = "127.0.0.1") -> ConnectionInfo:
        key = principal, host
        if key not in self._connections:
            self._connections[key] = ConnectionInfo(
                principal=principal, peer_host=host, listener_name="PLAINTEXT"
            )
        return self._connections[key]

    async def ask(
        self,
        request: Request,
        version: int,
        principal: str = ALICE,
        host: str = "127.0.0.1",
    ) -> Any:
        """The answer, decoded; None where there is none."""
        answer = self.begin(request, version, principal, host)
        return await self.finish(answer, request, version)

    def begin(
        self, request: Request, version: int, principal: str, host: str = "127.0.0.1"
    ) -> Any:
        frame = memoryview(bytearray(encode_request(request, version, 7, "c")[4:]))
        return self.dispatcher.dispatch(self.connection(principal, host), frame)

    async def finish(self, exchange: Any, request: Request, version: int) -> Any:
        response_class = RESPONSES[int(request.api_key)]
        if isinstance(exchange, bytes):
            return decode_response(exchange[4:], response_class, version)[1]
        route, correlation_id, answer, _ = exchange
        try:
            is_framed = False
            while not isinstance(answer, Struct | bytes | list):
                if answer is NO_RESPONSE:
                    return None
                parked = answer if isinstance(answer, Parked) else None
                answer = await answer
                is_framed = parked is not None and parked.is_framed
        except Exception as error:
            answer = self.dispatcher.failure(route, request, error)
        out: list[Any] = [answer]
        if not (is_framed and isinstance(answer, bytes)):
            out = []
            route.write(correlation_id, answer, out)
        return decode_response(b"".join(out)[4:], response_class, version)[1]


def codes_in(value: Any) -> list[int]:
    """All error codes of an answer that are not 0."""
    if isinstance(value, list):
        return [code for each in value for code in codes_in(each)]
    if not isinstance(value, Struct):
        return []
    found = []
    for field in value.fields:
        inner = getattr(value, field.name)
        if field.name in CODES and inner:
            found.append(inner)
        found += codes_in(inner)
    return found


@contextlib.asynccontextmanager
async def guarded_broker(
    directory: Path, *topics: str, **options: Any
) -> AsyncIterator[GuardedBroker]:
    config = BrokerConfig(
        log_dirs=(directory,),
        listeners=(Listener("PLAINTEXT", "127.0.0.1", 0),),
        log_min_free_bytes=0,
        authorizer_class_name="acl",
        super_users=read_principals(ROOT),
        **options,
    )
    server = Server(config)
    await server.start()
    try:
        broker = GuardedBroker(server)
        wanted = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in topics
        ]
        await broker.ask(CreateTopicsRequest(topics=wanted), 7, ROOT)
        yield broker
    finally:
        await server.stop()
        assert server.bugs.count == 0
