"""Delegation tokens log in by SCRAM."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.delegation_tokens import DelegationTokens
from odradek.protocol.errors import ErrorCode
from odradek.protocol.scram import client_first
from tests.fakes.login import (
    NONCE,
    LoginBroker,
    LoginClient,
    login_broker,
    scram_final,
)

DAY_MS = 86_400_000
REFUSED = ErrorCode.SASL_AUTHENTICATION_FAILED
OPTIONS: dict[str, Any] = {"delegation_token_secret_key": "hush"}


async def log_in(
    client: LoginClient, token_id: str, secret: bytes, mechanism: str, **more: str
) -> Any:
    await client.handshake(mechanism)
    first = client_first(token_id, NONCE, {"tokenauth": "true", **more})
    answer = await client.authenticate(first)
    password = b64encode(secret).decode()
    final = scram_final(first, bytes(answer.auth_bytes), password, mechanism)
    return await client.authenticate(final)


def tokens_of(broker: LoginBroker) -> DelegationTokens:
    tokens = broker.services.tokens
    assert tokens is not None
    return tokens


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_a_token_logs_in_as_its_owner_until_it_expires(
    tmp_path: Path, mechanism: str
) -> None:
    async with login_broker(tmp_path, **OPTIONS) as broker:
        tokens = tokens_of(broker)
        token = await tokens.create("User:carol", "User:alice", (), -1)
        secret = tokens.hmac_of(token.token_id)
        for _ in range(2):  # the key is made once
            client = broker.connect()
            answer = await log_in(client, token.token_id, secret, mechanism)
            assert (answer.error_code, answer.session_lifetime_ms) == (0, DAY_MS)
            assert client.principal == "User:carol"
            assert client.connection.info.is_by_token
        wrong = await log_in(broker.connect(), token.token_id, b"wrong", mechanism)
        assert wrong.error_code == REFUSED
        await tokens.expire(secret, "User:carol", -1)
        gone = await log_in(broker.connect(), token.token_id, secret, mechanism)
        assert gone.error_code == REFUSED


async def test_a_token_that_expires_between_both_messages_lets_nobody_in(
    tmp_path: Path,
) -> None:
    async with login_broker(tmp_path, **OPTIONS) as broker:
        tokens = tokens_of(broker)
        token = await tokens.create("User:alice", "User:alice", (), 1_000)
        client = broker.connect()
        await client.handshake("SCRAM-SHA-256")
        first = client_first(token.token_id, NONCE, {"tokenauth": "true"})
        answer = await client.authenticate(first)
        broker.clock.wall_ms += 1_001
        password = b64encode(tokens.hmac_of(token.token_id)).decode()
        final = scram_final(first, bytes(answer.auth_bytes), password, "SCRAM-SHA-256")
        assert (await client.authenticate(final)).error_code == REFUSED


async def test_a_token_is_no_user_and_a_user_no_token(tmp_path: Path) -> None:
    async with login_broker(tmp_path, **OPTIONS) as broker:
        tokens = tokens_of(broker)
        token = await tokens.create("User:alice", "User:alice", (), -1)
        password = b64encode(tokens.hmac_of(token.token_id)).decode()
        answer = await broker.connect().log_in(
            token.token_id, password, "SCRAM-SHA-256"
        )
        assert answer.error_code == REFUSED
        client = broker.connect()
        await client.handshake("SCRAM-SHA-256")
        first = client_first("alice", NONCE, {"tokenauth": "true"})
        answer = await client.authenticate(first)
        final = scram_final(first, bytes(answer.auth_bytes), "secret", "SCRAM-SHA-256")
        assert (await client.authenticate(final)).error_code == REFUSED


async def test_without_a_secret_there_are_no_tokens(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        answer = await log_in(broker.connect(), "any", b"x", "SCRAM-SHA-256")
        assert answer.error_code == REFUSED
