from .conftest import TokenShell


def test_tokens_are_shown_to_whom_they_concern(tokens: TokenShell) -> None:
    assert tokens.run("list") == ["no tokens"]
    assert tokens.json("list") == []
    (mine,) = tokens.json("create", "--renewer", "bob")
    (bobs,) = tokens.json("create", user="bob")
    head, first, second = tokens.run("list")
    assert head.split() == ["TOKEN", "OWNER", "RENEWERS", "EXPIRES", "MAX"]
    assert first.split()[:3] == [mine["token"], "User:alice", "User:bob"]
    assert second.split()[0] == bobs["token"], "without an authorizer all see all"
    owners = [x["owner"] for x in tokens.json("list", "--owner", "alice")]
    assert owners == ["User:alice"]
    assert tokens.json("list", "--owner", "eve") == []
