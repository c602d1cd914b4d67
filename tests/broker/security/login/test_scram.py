from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.scram import client_first
from tests.fakes.login import NONCE, login_broker, scram_final

MECHANISM = "SCRAM-SHA-256"


async def test_the_last_message_of_another_login_is_refused(tmp_path: Path) -> None:
    """A06: each login has a nonce of its own."""
    first = client_first("alice", NONCE)
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        await client.handshake(MECHANISM)
        asked = bytes((await client.authenticate(first)).auth_bytes)
        final = scram_final(first, asked, "secret", MECHANISM)
        assert (await client.authenticate(final)).error_code == 0
        again = broker.connect()
        await again.handshake(MECHANISM)
        await again.authenticate(first)
        answer = await again.authenticate(final)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize("nonce", ["", NONCE, "x", NONCE + "-and-not-the-broker's"])
async def test_a_nonce_of_somebody_else_is_refused(tmp_path: Path, nonce: str) -> None:
    """A06: all of it counts, not how it begins."""
    first = client_first("alice", NONCE)
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        await client.handshake(MECHANISM)
        asked = bytes((await client.authenticate(first)).auth_bytes)
        theirs = asked.split(b",")[0]
        final = scram_final(first, asked, "secret", MECHANISM)
        forged = final.replace(theirs, b"r=" + nonce.encode())
        assert forged != final
        answer = await client.authenticate(forged)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize(
    "token",
    [
        b"p=tls-unique,,n=alice,r=x",
        b"y,,n=alice,r=x",
        b"n,,n=al\0ice,r=x",
        b"n,a=bob,n=alice,r=x",
        b"n,,n=" + b"a" * 60_000,
        b"n,,n=" + b"a" * 60_000 + b",r=" + bytes(10),
    ],
)
async def test_what_the_rules_forbid_is_refused(tmp_path: Path, token: bytes) -> None:
    """A06"""
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        await client.handshake(MECHANISM)
        answer = await client.authenticate(token)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


async def test_a_name_of_a_megabyte_is_not_read(tmp_path: Path) -> None:
    """A06"""
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        await client.handshake(MECHANISM)
        assert await client.authenticate(b"n,,n=" + b"a" * (1 << 20) + b",r=x") is None
        assert client.connection._reader.held == 0


@pytest.mark.parametrize("extensions", ["", ",tokenauth=true"])
async def test_nobody_has_a_salt_that_stays(tmp_path: Path, extensions: str) -> None:
    """A name that is asked twice is answered as that of a user would be."""
    salts = []
    for _ in range(2):  # also after a restart
        async with login_broker(tmp_path) as broker:
            client = broker.connect()
            await client.handshake(MECHANISM)
            token = f"n,,n=nobody,r=x{extensions}".encode()
            answer = await client.authenticate(token)
            assert answer.error_code == 0
            salts.append(bytes(answer.auth_bytes).split(b",")[1])
    assert salts[0] == salts[1]
