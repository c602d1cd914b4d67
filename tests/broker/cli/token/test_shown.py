from argparse import ArgumentTypeError

import pytest

from odradek.broker.cli.token.shown import principal, row_of, show
from odradek.client.delegation_tokens import Token
from odradek.client.security.settings import Secret

from .conftest import TokenShell

TOKEN = Token("id", "User:a", "User:b", ["User:c"], 1, 2, 3, Secret("hush"))


def test_principals() -> None:
    assert principal("alice") == principal("User:alice") == ("User", "alice")
    assert principal("User:a:b") == ("User", "a:b")
    for wrong in ("", ":a", "User:"):
        with pytest.raises(ArgumentTypeError):
            principal(wrong)


def test_the_secret_is_never_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "hush" not in f"{TOKEN} {row_of(TOKEN)}"
    for is_json in (False, True):
        show([TOKEN], is_json)
    shown = capsys.readouterr().out
    assert "hush" not in shown
    assert '"expiry_ms": 2' in shown
    assert "1970-01-01T00:00:00.002Z" in shown


@pytest.mark.parametrize("action", ["renew", "expire"])
def test_a_secret_in_the_place_of_an_id_is_not_repeated(
    action: str, tokens: TokenShell
) -> None:
    (made,) = tokens.json("create")
    for secret in (made["hmac"], made["hmac"].rstrip("="), "x" * 86):
        assert tokens.run(action, secret, code=1) == []
        assert (
            "name the token by its id, which odradek token list shows" in tokens.error
        )
        assert secret not in tokens.error
    assert [row["token"] for row in tokens.json("list")] == [made["token"]]
