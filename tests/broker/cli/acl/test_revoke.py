from .conftest import Acl

READER = ("alice", "read", "topic", "orders-*", "--group", "app")


def test_what_was_granted_is_taken_back(acl: Acl) -> None:
    acl.run("grant", *READER)
    acl.run("grant", "alice", "read", "topic", "orders-eu")
    assert sorted(acl.run("revoke", *READER)) == [
        "revoked: User:alice may read every topic that begins with orders-",
        "revoked: User:alice may read group app",
    ]
    (left,) = acl.json("list")
    assert left["resourceName"] == "orders-eu"


def test_what_is_not_there_cannot_be_taken_back(acl: Acl) -> None:
    acl.run("deny", "alice", "read", "topic", "x")
    acl.run("revoke", "alice", "read", "topic", "x", code=1)
    assert "there is no such entry; 'odradek acl list alice' shows" in acl.error
    (row,) = acl.json("revoke", "alice", "read", "topic", "x", "--deny")
    assert row["revoked"] is True
    assert acl.run("list") == ["no entries"]


def test_an_address_may_be_written_in_full_or_short(acl: Acl) -> None:
    for granted, revoked in (("::1", "::1"), ("::1", "0:0:0:0:0:0:0:1")):
        acl.run("grant", "alice", "read", "topic", "x", "--host", granted)
        (row,) = acl.json("list")
        assert row["host"] in ("::1", "0:0:0:0:0:0:0:1")
        acl.run("revoke", "alice", "read", "topic", "x", "--host", revoked)
        assert acl.run("list") == ["no entries"]
    acl.run("deny", "alice", "read", "topic", "x", "--host", "10.0.0.0/8", code=2)
    assert "'10.0.0.0/8' is no address" in acl.error
    acl.run("revoke", "alice", "read", "topic", "x", "--host", "10.0.0.0/8", code=1)
    assert "there is no such entry" in acl.error
