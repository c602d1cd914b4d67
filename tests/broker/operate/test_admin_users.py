from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.operate.admin_users import user_requests
from tests.fakes.replicas import Replicas, replicas

SALTED = {
    "iterations": 4096,
    "salt": b64encode(b"salt").decode(),
    "saltedPassword": b64encode(b"p" * 32).decode(),
}
ALICE = {"user": "alice", "mechanism": "SCRAM-SHA-256"}


async def ask(broker: Replicas, name: str, **request: Any) -> list[Any]:
    return [item async for item in user_requests(broker.services)[name](request)]


async def test_a_user_is_set_shown_and_removed(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        assert await ask(broker, "users") == []
        assert await ask(broker, "set-user", **ALICE, **SALTED) == [{"user": "alice"}]
        known = [{"mechanism": "SCRAM-SHA-256", "iterations": 4096}]
        assert await ask(broker, "users") == [{"user": "alice", "credentials": known}]
        assert await ask(broker, "users", user="bob") == [
            {"user": "bob", "credentials": []}
        ]
        await ask(broker, "remove-user", **ALICE)
        assert await ask(broker, "users") == []


async def test_each_change_is_in_the_audit_and_no_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "odradek.audit")
    async with replicas(tmp_path) as broker:
        await ask(broker, "set-user", **ALICE, **SALTED)
        with pytest.raises(AdminError):
            await ask(broker, "remove-user", user="bob", mechanism="SCRAM-SHA-256")
    done, refused = caplog.messages
    assert "by odradek at admin.sock done: upsertions (name alice" in done
    assert SALTED["saltedPassword"] not in done
    assert "refused (RESOURCE_NOT_FOUND): deletions (name bob" in refused


@pytest.mark.parametrize(
    ("name", "request_", "word", "message"),
    [
        ("users", {"x": 1}, "malformed", "users takes user"),
        ("set-user", {}, "malformed", "it takes user, mechanism, iterations"),
        ("set-user", {**ALICE, **SALTED, "x": 1}, "malformed", "it takes user"),
        ("set-user", {**ALICE, **SALTED, "user": 7}, "malformed", "user must be"),
        ("set-user", {**ALICE, **SALTED, "salt": "*"}, "malformed", "must be base64"),
        ("set-user", {**ALICE, **SALTED, "iterations": "1"}, "malformed", "a whole"),
        (
            "set-user",
            {**ALICE, **SALTED, "iterations": 1 << 40},
            "malformed",
            "a whole",
        ),
        ("set-user", {**ALICE, **SALTED, "mechanism": "PLAIN"}, "malformed", "one of"),
        (
            "set-user",
            {**ALICE, **SALTED, "iterations": 1},
            "UNACCEPTABLE_CREDENTIAL",
            "Too few",
        ),
        (
            "set-user",
            {**ALICE, **SALTED, "user": ""},
            "UNACCEPTABLE_CREDENTIAL",
            "must not be empty",
        ),
        ("remove-user", ALICE, "RESOURCE_NOT_FOUND", "does not exist"),
        ("remove-user", {"user": "alice"}, "malformed", "it takes user, mechanism"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    tmp_path: Path, name: str, request_: dict[str, Any], word: str, message: str
) -> None:
    async with replicas(tmp_path) as broker:
        with pytest.raises(AdminError, match=message) as refused:
            await ask(broker, name, **request_)
        assert refused.value.word == word
        assert await ask(broker, "users") == []
