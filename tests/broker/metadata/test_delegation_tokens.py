import hmac
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.metadata import delegation_tokens
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.metadata.delegation_tokens import DelegationTokens, TokenTimes
from odradek.protocol.errors import (
    DelegationTokenExpired,
    DelegationTokenNotFound,
    DelegationTokenOwnerMismatch,
    PolicyViolation,
)
from tests.fakes.clock import FakeClock

ALICE, BOB, CAROL = "User:alice", "User:bob", "User:carol"
TIMES = TokenTimes(max_lifetime_ms=10_000, renewal_ms=1_000)
SECRET = "a marker of a secret"


@asynccontextmanager
async def tokens_in(
    directory: Path, clock: FakeClock | None = None, secret: str = SECRET
) -> AsyncIterator[DelegationTokens]:
    catalog = Catalog.open(directory)
    try:
        yield DelegationTokens(catalog, clock or FakeClock(), secret, TIMES)
    finally:
        await catalog.close()


async def test_a_token_is_there_after_a_restart_and_its_secret_in_no_file(
    tmp_path: Path,
) -> None:
    """S017"""
    clock = FakeClock()
    async with tokens_in(tmp_path, clock) as tokens:
        token = await tokens.create(ALICE, BOB, (CAROL,), -1)
        found = tokens.hmac_of(token.token_id)
    assert found == hmac.digest(SECRET.encode(), token.token_id.encode(), "sha512")
    for name in (CATALOG, BACKUP):
        data = (tmp_path / name).read_bytes()
        assert token.token_id.encode() in data
        assert found not in data
        assert SECRET.encode() not in data
    async with tokens_in(tmp_path, clock) as tokens:
        assert list(tokens) == [token]
        assert await tokens.renew(found, CAROL, -1) == clock.now_ms() + 1_000
    async with tokens_in(tmp_path, clock, "another") as tokens:
        with pytest.raises(DelegationTokenNotFound):
            await tokens.renew(found, CAROL, -1)


@pytest.mark.parametrize(
    ("wanted_ms", "max_ms", "expiry_ms"),
    [(-1, 10_000, 1_000), (0, 10_000, 1_000), (500, 500, 500), (10**18, 10_000, 1_000)],
)
async def test_how_long_a_new_one_holds(
    tmp_path: Path, wanted_ms: int, max_ms: int, expiry_ms: int
) -> None:
    clock = FakeClock()
    async with tokens_in(tmp_path, clock) as tokens:
        token = await tokens.create(ALICE, ALICE, (), wanted_ms)
        now_ms = clock.now_ms()
        assert token.issue_ms == now_ms
        assert (token.max_ms - now_ms, token.expiry_ms - now_ms) == (max_ms, expiry_ms)


async def test_a_renewal_is_never_longer_than_that_of_the_broker(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with tokens_in(tmp_path, clock) as tokens:
        token = await tokens.create(ALICE, ALICE, (), -1)
        secret = tokens.hmac_of(token.token_id)
        for wanted_ms, got_ms in ((-1, 1_000), (0, 1_000), (10, 10), (10**18, 1_000)):
            expiry_ms = await tokens.renew(secret, ALICE, wanted_ms)
            assert expiry_ms - clock.now_ms() == got_ms
        for _ in range(9):
            clock.wall_ms += 1_000
            await tokens.renew(secret, ALICE, -1)
        clock.wall_ms += 500
        assert await tokens.renew(secret, ALICE, -1) == token.max_ms


async def test_what_is_wrong_is_said_in_the_order_of_apache_kafka(
    tmp_path: Path,
) -> None:
    """S017"""
    clock = FakeClock()
    async with tokens_in(tmp_path, clock) as tokens:
        token = await tokens.create(ALICE, BOB, (CAROL,), -1)
        secret = tokens.hmac_of(token.token_id)
        with pytest.raises(DelegationTokenNotFound):
            await tokens.renew(b"x", ALICE, -1)
        with pytest.raises(DelegationTokenNotFound):
            await tokens.expire(b"x", ALICE, -1)
        with pytest.raises(DelegationTokenOwnerMismatch):
            await tokens.renew(secret, BOB, -1)
        with pytest.raises(DelegationTokenOwnerMismatch):
            await tokens.expire(secret, BOB, -1)
        clock.wall_ms += 1_001
        assert tokens.get(token.token_id) is None
        with pytest.raises(DelegationTokenExpired):
            await tokens.renew(secret, BOB, -1)
        with pytest.raises(DelegationTokenOwnerMismatch):
            await tokens.expire(secret, BOB, 5)
        with pytest.raises(DelegationTokenExpired):
            await tokens.expire(secret, ALICE, 5)
        assert await tokens.expire(secret, CAROL, -1) == clock.now_ms()
        assert not list(tokens)


async def test_a_token_ends_sooner_or_later_but_not_after_its_end(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with tokens_in(tmp_path, clock) as tokens:
        token = await tokens.create(ALICE, ALICE, (), -1)
        secret = tokens.hmac_of(token.token_id)
        for period_ms in (0, 5_000, 7):
            expiry_ms = await tokens.expire(secret, ALICE, period_ms)
            assert expiry_ms - clock.now_ms() == period_ms
        assert await tokens.expire(secret, ALICE, 1 << 62) == token.max_ms
        assert await tokens.expire(secret, ALICE, (1 << 63) - 1) == token.max_ms


async def test_those_that_have_expired_are_removed(tmp_path: Path) -> None:
    clock = FakeClock()
    async with tokens_in(tmp_path, clock) as tokens:
        await tokens.create(ALICE, ALICE, (), 100)
        kept = await tokens.create(ALICE, ALICE, (), -1)
        assert await tokens.remove_expired() == 0
        clock.wall_ms += 101
        assert len(tokens) == 2
        assert await tokens.remove_expired() == 1
        assert list(tokens) == [kept]
    async with tokens_in(tmp_path, clock) as tokens:
        assert list(tokens) == [kept]


async def test_there_are_only_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegation_tokens, "TOKENS_MAX", 1)
    async with tokens_in(tmp_path) as tokens:
        await tokens.create(ALICE, ALICE, (), -1)
        with pytest.raises(PolicyViolation):
            await tokens.create(ALICE, ALICE, (), -1)


async def test_a_flipped_token_is_noticed(tmp_path: Path) -> None:
    async with tokens_in(tmp_path) as tokens:
        await tokens.create(ALICE, ALICE, (), -1)
    with sqlite3.connect(tmp_path / CATALOG) as database:
        database.create_function("row_checksum", -1, lambda *values: 0)
        database.execute("DROP TRIGGER tokens_updated")
        database.execute("UPDATE tokens SET owner = 'User:root'")
    database.close()
    async with tokens_in(tmp_path) as tokens:
        (token,) = tokens
        assert token.owner == ALICE, "the copy has it"
