from .conftest import Acl


def test_of_one_user_or_of_what_is_touched(acl: Acl) -> None:
    assert acl.run("list") == ["no entries"]
    acl.run("grant", "alice", "read", "topic", "orders-*", "--group", "app")
    acl.run("grant", "bob", "all", "topic", "*")
    acl.run("deny", "bob", "write", "topic", "orders", "--host", "192.0.2.1")
    assert [line.split() for line in acl.run("list", "bob")[1:]] == [
        ["User:bob", "allow", "all", "topic", "*", "*"],
        ["User:bob", "deny", "write", "topic", "orders", "192.0.2.1"],
    ]

    def names(*given: str) -> list[str]:
        return [row["resourceName"] for row in acl.json("list", *given)]

    assert names("--topic", "orders-eu") == ["*", "orders-"]
    assert names("--topic", "orders") == ["*", "orders"]
    assert names("--group", "app") == ["app"]
    assert names("alice", "--topic", "other") == []
