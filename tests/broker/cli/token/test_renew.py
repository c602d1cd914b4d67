from .conftest import TokenShell


def test_a_token_is_renewed_by_its_id(tokens: TokenShell) -> None:
    (made,) = tokens.json("create", "--renewer", "bob")
    token_id = made["token"]
    (line,) = tokens.run("renew", token_id, user="bob")
    assert line.startswith(f"{token_id}: holds until 20")
    (renewed,) = tokens.json("renew", token_id, "--period", "2h")
    assert renewed["expiry_ms"] < made["expiry_ms"], "2 h in place of a day"


def test_who_may_not(tokens: TokenShell) -> None:
    (made,) = tokens.json("create")
    tokens.run("renew", made["token"], user="bob", code=1)
    assert f"{made['token']}: DELEGATION_TOKEN_OWNER_MISMATCH" in tokens.error
    tokens.run("renew", "nosuch", code=1)
    assert "nosuch: DELEGATION_TOKEN_NOT_FOUND: there is no such" in tokens.error
