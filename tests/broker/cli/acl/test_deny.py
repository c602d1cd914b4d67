from .conftest import Acl


def test_it_is_stronger_than_what_is_granted(acl: Acl) -> None:
    acl.run("grant", "alice", "all", "topic", "*")
    assert acl.run("deny", "alice", "write", "topic", "orders") == [
        "User:alice may not write topic orders"
    ]
    (row,) = acl.json("explain", "alice", "write", "topic", "orders")
    assert row["allowed"] is False
    assert row["entry"]["permission"] == "DENY"
    (row,) = acl.json("explain", "alice", "write", "topic", "others")
    assert row["allowed"] is True
