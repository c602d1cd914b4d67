"""Listeners that want a login, on transports in memory and with a clock by hand."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.handlers import OfferedHandlers
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.broker.network.admission import Admission
from odradek.broker.network.guarded_connection import GuardedConnection
from odradek.broker.network.listener import SWEEP_INTERVAL_MS, Listener
from odradek.broker.network.network import Network
from odradek.broker.node.listening import make_listeners
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from odradek.broker.security.login.gate import Gate
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from odradek.protocol.schema import RESPONSES, Request
from odradek.protocol.scram import (
    Mechanism,
    client_final,
    client_first,
    read_server_first,
    salted,
)
from tests.fakes.clock import FakeClock
from tests.fakes.network import FakeTransport
from tests.fakes.topics import TopicBroker
from tests.patience import PATIENCE_S

SASL = "SASL_PLAINTEXT"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
NONCE = "the-client's"


class LoginBroker:
    """One listener with logins, and clients that are not let in yet."""

    listener: Listener

    def __init__(self, catalog: Catalog, protocol: str = SASL, **options: Any) -> None:
        options.setdefault("sasl_enabled_mechanisms", MECHANISMS)
        options.setdefault("connection_failed_authentication_delay_ms", 0)
        listeners = (Address(protocol, "127.0.0.1", 0),)
        config = BrokerConfig(listeners=listeners, **options)
        config.check()
        self.catalog = catalog
        self.topics = TopicBroker(catalog, config)
        self.services = self.topics.services
        self.clock = cast(FakeClock, self.services.clock)
        self.log: list[str] = []
        self.dispatcher = Dispatcher(self.services, OfferedHandlers())
        self._network = Network(
            options=config,
            dispatcher=self.dispatcher,
            clock=self.clock,
            memory=RequestMemory(config.queued_max_request_bytes),
            answers=self.services.answer_memory,
            admission=Admission(config, self.clock),
            log=LimitedLog(self.clock, self.log.append),
        )
        self._config = config

    async def listen(self) -> None:
        """Make the listener; no port is opened."""
        (self.listener,) = await make_listeners(
            self._config, self.services, self._network, self.catalog
        )

    async def add_user(self, name: str, password: str) -> None:
        """Let ``name`` log in, by every mechanism."""
        for mechanism in Mechanism:
            hashed = salted(password.encode(), b"salt", 4096, mechanism.algorithm)
            credential = ScramCredential.of(mechanism, 4096, b"salt", hashed)
            await self.services.credentials.put(name, mechanism, credential)

    def connect(self, host: str = "127.0.0.1") -> "LoginClient":
        return LoginClient(self, host)

    def pass_time(self, duration_ms: int) -> None:
        """Time passes, and the listener looks after its connections."""
        for _ in range(duration_ms // SWEEP_INTERVAL_MS):
            self.clock.advance(SWEEP_INTERVAL_MS)
            self.listener.sweep()


class LoginClient:
    """One connection; what it asks is answered while it waits."""

    def __init__(self, broker: LoginBroker, host: str) -> None:
        self.broker = broker
        self.transport = FakeTransport((host, 50_000))
        connection = broker.listener.make_connection()()
        assert isinstance(connection, GuardedConnection)
        self.connection = connection
        self.gate = connection._guard
        assert isinstance(self.gate, Gate)
        self.transport.connect(connection)
        self._asked: list[tuple[Request, int]] = []
        self._read_size = 0

    @property
    def principal(self) -> str:
        return self.connection.info.principal

    @property
    def is_closed(self) -> bool:
        return self.transport.is_closing()

    def send(self, request: Request, version: int) -> None:
        self._asked.append((request, version))
        number = len(self._asked)
        self.transport.feed(bytes(encode_request(request, version, number, "test")))

    def send_bytes(self, frame: bytes) -> None:
        """A frame without a header."""
        self.transport.feed(struct.pack(">i", len(frame)) + frame)

    def frames(self) -> list[bytes]:
        """The answers that have come since the last call, without their lengths."""
        found = []
        sent = self.transport.sent
        while self._read_size < len(sent):
            (size,) = struct.unpack_from(">i", sent, self._read_size)
            found.append(bytes(sent[self._read_size + 4 :][:size]))
            self._read_size += 4 + size
        return found

    async def frame(self) -> bytes | None:
        """The next answer; None: the connection is closed without one."""
        async with asyncio.timeout(PATIENCE_S):
            while not (frames := self.frames()) and not self.is_closed:  # noqa: ASYNC110
                await asyncio.sleep(
                    0
                )  # a disk thread may be at work, which tells nobody
        if not frames:
            return None
        (frame,) = frames
        return frame

    async def ask(self, request: Request, version: int) -> Any:
        """The answer; None: the connection is closed without one."""
        self.send(request, version)
        frame = await self.frame()
        if frame is None:
            return None
        response = RESPONSES[request.api_key]
        return decode_response(memoryview(frame), response, version)[1]

    async def handshake(self, mechanism: str, version: int = 1) -> Any:
        return await self.ask(SaslHandshakeRequest(mechanism=mechanism), version)

    async def authenticate(self, token: bytes, version: int = 2) -> Any:
        return await self.ask(SaslAuthenticateRequest(auth_bytes=token), version)

    async def log_in(self, user: str, password: str, mechanism: str = "PLAIN") -> Any:
        """The answer to the last token; the handshake must have gone well."""
        chosen = await self.handshake(mechanism)
        assert chosen.error_code == 0, chosen
        if mechanism == "PLAIN":
            return await self.authenticate(plain_token(user, password))
        first = client_first(user, NONCE)
        answer = await self.authenticate(first)
        if answer.error_code:
            return answer
        final = scram_final(first, bytes(answer.auth_bytes), password, mechanism)
        return await self.authenticate(final)


def plain_token(user: str, password: str, authzid: str = "") -> bytes:
    return f"{authzid}\0{user}\0{password}".encode()


def scram_final(first: bytes, answer: bytes, password: str, mechanism: str) -> bytes:
    """The second message of a client."""
    algorithm = Mechanism[mechanism.replace("-", "_")].algorithm
    wanted = read_server_first(answer, NONCE)
    hashed = salted(password.encode(), wanted.salt, wanted.iterations, algorithm)
    return client_final(first, answer, hashed, algorithm).message


@asynccontextmanager
async def login_broker(directory: Path, **options: Any) -> AsyncIterator[LoginBroker]:
    async with AsyncExitStack() as opened:
        catalog = Catalog.open(directory)
        opened.push_async_callback(catalog.close)
        broker = LoginBroker(catalog, **options)
        opened.callback(broker.topics.disk_threads.close)
        await broker.listen()
        await broker.add_user("alice", "secret")
        yield broker
