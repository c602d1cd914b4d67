from .conftest import TokenShell


def test_a_token_ends_now_or_soon(tokens: TokenShell) -> None:
    (made,) = tokens.json("create")
    token_id = made["token"]
    (line,) = tokens.run("expire", token_id, "--in", "1h")
    assert line.startswith(f"{token_id}: holds until 20")
    (shown,) = tokens.json("list")
    assert shown["expiry_ms"] < made["expiry_ms"]
    assert tokens.run("expire", token_id) == [f"{token_id}: ended"]
    assert tokens.json("list") == []
    tokens.run("expire", token_id, code=1)
    assert "DELEGATION_TOKEN_NOT_FOUND" in tokens.error


def test_json(tokens: TokenShell) -> None:
    (made,) = tokens.json("create")
    (ended,) = tokens.json("expire", made["token"])
    assert ended["token"] == made["token"]
    assert ended["expiry_ms"] < made["expiry_ms"]
