"""S009: what every API gets in every state of a login, and that its body is not read.

A row of the table says whether the request gets past the gate, to which a layer in
front of the dispatcher bears witness, what is answered, and whether the connection
stays. Bodies are garbage: who decodes one closes the connection, or is noticed.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.broker.network.entry import Layers
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.offered import OFFERED
from odradek.broker.security.login.gate import GateState
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_response
from odradek.protocol.schema import RESPONSES
from tests.fakes.login import LoginBroker, LoginClient, login_broker
from tests.fakes.network import settle

SESSION_MS = 60_000
ANSWER = b"\0\0\0\4past"
PLAIN, SCRAM = "PLAIN", "SCRAM-SHA-256"


class Fate(NamedTuple):
    """What becomes of a request; ``code`` None: it is not answered by the gate."""

    is_passed: bool
    code: int | None
    is_closed: bool


PASSED = Fate(is_passed=True, code=None, is_closed=False)
CLOSED = Fate(is_passed=False, code=None, is_closed=True)
REFUSED = Fate(is_passed=False, code=ErrorCode.ILLEGAL_SASL_STATE, is_closed=True)


async def start(client: LoginClient) -> None:
    assert client.gate.state is GateState.START


async def mechanism(client: LoginClient) -> None:
    await client.handshake(PLAIN)
    assert client.gate.state is GateState.MECHANISM


async def between_tokens(client: LoginClient) -> None:
    await client.handshake(SCRAM)
    await client.authenticate(b"n,,n=alice,r=x")
    assert client.gate.state is GateState.MECHANISM


async def is_in(client: LoginClient) -> None:
    assert (await client.log_in("alice", "secret", SCRAM)).error_code == 0
    assert client.gate.state is GateState.OPEN


async def again(client: LoginClient) -> None:
    await is_in(client)
    await client.handshake(SCRAM)
    assert client.gate.state is GateState.REAUTH


async def again_between_tokens(client: LoginClient) -> None:
    await again(client)
    await client.authenticate(b"n,,n=alice,r=x")
    assert client.gate.state is GateState.REAUTH


async def has_ended(client: LoginClient) -> None:
    await is_in(client)
    client.broker.clock.advance(SESSION_MS)


async def was_refused(client: LoginClient) -> None:
    answer = await client.log_in("alice", "wrong", SCRAM)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.gate.state is GateState.SHUT


# The state, what becomes of requests in it, and the APIs that belong to it.
TABLE: list[tuple[Callable[[LoginClient], Awaitable[None]], Fate, set[int]]] = [
    (start, CLOSED, {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE}),
    (mechanism, REFUSED, {ApiKey.SASL_AUTHENTICATE}),
    (between_tokens, REFUSED, {ApiKey.SASL_AUTHENTICATE}),
    (is_in, PASSED, {ApiKey.SASL_HANDSHAKE}),
    (again, REFUSED, {ApiKey.SASL_AUTHENTICATE}),
    (again_between_tokens, REFUSED, {ApiKey.SASL_AUTHENTICATE}),
    (has_ended, CLOSED, {ApiKey.SASL_HANDSHAKE}),
    (was_refused, CLOSED, set()),
]


NAMES = [state.__name__ for state, _, _ in TABLE]


@pytest.mark.parametrize(("state", "fate", "own"), TABLE, ids=NAMES)
async def test_every_api_in_every_state(
    tmp_path: Path,
    state: Callable[[LoginClient], Awaitable[None]],
    fate: Fate,
    own: set[int],
) -> None:
    """S009"""
    passed: list[int] = []

    def witness(inner: Any, connection: ConnectionInfo, frame: memoryview) -> bytes:
        passed.append(int.from_bytes(frame[:2]))
        return ANSWER

    async with login_broker(tmp_path, connections_max_reauth_ms=SESSION_MS) as broker:
        for key in sorted(OFFERED.keys() - own):
            client = broker.connect()
            await state(client)
            layers = Layers(broker.dispatcher, [broker.listener])
            layers.put(witness)
            try:
                found = await asked_garbage(broker, client, key, passed)
            finally:
                layers.take_away(witness)
            wanted = fate
            if fate is REFUSED and not has_error(key):
                wanted = CLOSED  # its answer has no place for what is wrong with it
            assert found == wanted, ApiKey(key).name
            assert not broker.services.bugs.count
            client.transport.lose()


def has_error(key: int) -> bool:
    """Whether the answer of an API has one error for all of it."""
    return any(
        field.name == "error_code" and field.versions.cover(OFFERED[key].advertised_max)
        for field in RESPONSES[key].fields
    )


async def asked_garbage(
    broker: LoginBroker, client: LoginClient, key: int, passed: list[int]
) -> Fate:
    passed.clear()
    version = OFFERED[key].advertised_max
    client.frames()
    head = key.to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\0\1x\0"
    client.send_bytes(head + b"\xff" * 100)
    await settle()
    frames = client.frames()
    if passed:
        assert passed == [key]
        assert frames == [ANSWER[4:]]
        return Fate(is_passed=True, code=None, is_closed=client.is_closed)
    code = None
    if frames:
        (frame,) = frames
        answer = decode_response(memoryview(frame), RESPONSES[key], version)[1]
        code = answer.error_code
    return Fate(is_passed=False, code=code, is_closed=client.is_closed)
