"""Users, access control lists and tokens of an Apache Kafka, adopted and served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.config.options.security.access import AUTHORIZERS, Principals
from odradek.broker.node.server import Server
from tests.adopted import METADATA_GOLDEN, adopt_directories, copy_case, serving
from tests.adopted_logins import ROOT, ROOT_PASSWORD, Adopted
from tests.apache_kafka.kept_logins import LIFE_MS

LISTENERS = (Address("SASL_PLAINTEXT", "127.0.0.1", 0),)
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
HOUR_MS = 3_600_000


@asynccontextmanager
async def adopted(
    folder: Path, later_ms: int = 1000, secret: str | None = "hush"
) -> AsyncIterator[tuple[Server, Adopted, dict[str, Any]]]:
    """A broker some time after Kafka has stopped, with the secret of its tokens."""
    expected = copy_case(METADATA_GOLDEN / "logins", folder / "case")
    directory = folder / "case" / "log-dir"
    adoption = adopt_directories(directory)
    counted = {"SCRAM credentials: 4", "ACLs: 9", "delegation tokens: 2"}
    assert counted <= {*adoption.resources.counted()}
    users = folder / "users"
    users.write_text(f"{ROOT}:{ROOT_PASSWORD}\n")
    users.chmod(0o600)
    options = {
        "listeners": LISTENERS,
        "sasl_enabled_mechanisms": MECHANISMS,
        "plain_users_file": str(users),
        "authorizer_class_name": AUTHORIZERS[1],
        "super_users": Principals({f"User:{ROOT}"}),
        "delegation_token_secret_key": secret,
        "connection_failed_authentication_delay_ms": 0,
    }
    now_ms = expected["written_at_ms"] + later_ms
    async with serving(directory, now_ms=now_ms, **options) as (server, _):
        yield server, Adopted(server.listeners[0].port, expected), expected


async def test_who_could_log_in_at_kafka_can_here_with_the_same_rights(
    tmp_path: Path,
) -> None:
    """S031"""
    async with adopted(tmp_path) as (_, found, _):
        await asyncio.to_thread(found.check_all)


async def test_tokens_end_when_they_would_have_ended(tmp_path: Path) -> None:
    """S031: those of a day are gone after it, although nobody has looked."""
    async with adopted(tmp_path, later_ms=LIFE_MS + HOUR_MS) as (_, found, expected):
        for token in expected["tokens"]:
            assert not await asyncio.to_thread(found.token_logs_in, token)
        bob = expected["passwords"]["bob"]
        assert await asyncio.to_thread(found.logs_in, "bob", bob)


async def test_tokens_need_the_secret_that_kafka_had(tmp_path: Path) -> None:
    """S031"""
    for number, secret in enumerate(("another", None)):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with adopted(folder, secret=secret) as (_, found, expected):
            for token in expected["tokens"]:
                assert not await asyncio.to_thread(found.token_logs_in, token)
