from pathlib import Path

import pytest

from odradek.broker.security.login.hashing import PasswordHashing
from odradek.broker.security.login.mechanism import LoginRefused
from odradek.broker.security.login.plain import (
    FixedPasswords,
    Plain,
    PlainNegotiation,
    ScramPasswords,
)
from tests.fakes.login import LoginBroker, login_broker, plain_token

USERS = {"alice": "secret", "böb": "pass:wörd"}


def begin() -> PlainNegotiation:
    return Plain(FixedPasswords(USERS)).begin()


@pytest.mark.parametrize(
    "token",
    [plain_token(*user) for user in USERS.items()]
    + [plain_token("alice", "secret", "alice")],
)
def test_a_right_password_names_the_user(token: bytes) -> None:
    negotiation = begin()
    assert negotiation.step(token) == b""
    assert negotiation.identity is not None
    assert negotiation.identity.principal == f"User:{negotiation.claimed}"


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"\0",
        b"alice\0secret",
        b"\0alice\0secret\0",
        b"\0\0secret",
        b"\0alice\0",
        b"bob\0alice\0secret",
        b"\0alice\0Secret",
        b"\0nobody\0secret",
        b"\0\xff\0secret",
        b"\0alice\0" + b"x" * 60_000,
    ],
)
def test_anything_else_is_refused_in_the_same_words(token: bytes) -> None:
    negotiation = begin()
    with pytest.raises(LoginRefused) as refused:
        negotiation.step(token)
    assert refused.value.told == "Authentication failed: Invalid username or password"
    assert negotiation.identity is None


class CountedHashing(PasswordHashing):
    """Counts what is hashed: what costs time."""

    count = 0

    async def salted(
        self, password: str, salt: bytes, iterations: int, algorithm: str
    ) -> bytes:
        self.count += 1
        return await super().salted(password, salt, iterations, algorithm)


async def is_right(passwords: ScramPasswords, user: str, password: str) -> bool:
    found = passwords.is_right(user, password)
    return found if isinstance(found, bool) else await found


def scram_passwords(broker: LoginBroker) -> tuple[ScramPasswords, CountedHashing]:
    from odradek.broker.security.login.decoy import Decoy

    hashing = CountedHashing(broker.services.disk_threads)
    credentials = broker.services.credentials
    return ScramPasswords(credentials, hashing, Decoy(b"x")), hashing


async def test_a_password_is_hashed_once_while_it_is_right(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        passwords, hashing = scram_passwords(broker)
        for _ in range(3):
            assert await is_right(passwords, "alice", "secret")
        assert hashing.count == 1
        await broker.add_user("alice", "changed")
        assert not await is_right(passwords, "alice", "secret")
        assert await is_right(passwords, "alice", "changed")


async def test_wrong_names_cost_as_much_as_wrong_passwords(tmp_path: Path) -> None:
    """A07"""
    async with login_broker(tmp_path) as broker:
        passwords, hashing = scram_passwords(broker)
        for user in ("alice", "nobody"):
            for _ in range(3):
                assert not await is_right(passwords, user, "wrong")
        assert hashing.count == 6
