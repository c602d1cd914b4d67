import re
from base64 import b64decode

import pytest

from odradek.broker.cli.main import main

from .conftest import TokenShell


def test_what_logs_in_is_printed_once(tokens: TokenShell) -> None:
    told, way, line = tokens.run("create", "--max-lifetime", "2h")
    token_id, secret = re.findall(r'="(\S+)"', line)[:2]
    assert len(b64decode(secret)) == 64
    assert line.startswith("sasl.jaas.config=org.apache.kafka.common.security.scram.")
    assert line.endswith(
        f'required username="{token_id}" password="{secret}" tokenauth="true";'
    )
    assert told.startswith(f"# {token_id} logs in User:alice until 20")
    assert way.startswith("# ")
    assert secret not in "\n".join(tokens.run("list"))
    assert secret not in str(tokens.json("list"))


def test_owner_and_renewers(tokens: TokenShell) -> None:
    words = (
        "create",
        "--owner",
        "bob",
        "--renewer",
        "User:alice",
        "--renewer",
        "carol",
    )
    (made,) = tokens.json(*words)
    assert made["owner"] == "User:bob"
    assert made["requester"] == "User:alice"
    assert made["renewers"] == ["User:alice", "User:carol"]
    assert len(b64decode(made["hmac"])) == 64
    (shown,) = tokens.json("list", user="bob")
    assert {**shown, "hmac": made["hmac"]} == made


@pytest.mark.parametrize("wrong", ["User:", ":x", ""])
def test_what_is_no_user(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["token", "create", "--owner", wrong])
    assert "is no user; write it User:alice" in capsys.readouterr().err


def test_a_renewer_is_a_user(tokens: TokenShell) -> None:
    tokens.run("create", "--renewer", "Group:x", code=1)
    assert "INVALID_PRINCIPAL_TYPE" in tokens.error
