import pytest

from odradek.broker.cli.main import main
from tests.broker_process import running_broker

from .conftest import Acl


def test_a_reader_with_its_group(acl: Acl) -> None:
    given = ("alice", "read", "topic", "orders-*", "--group", "app")
    assert acl.run("grant", *given) == [
        "User:alice may read every topic that begins with orders-",
        "User:alice may read group app",
    ]
    acl.run("grant", *given)  # what is there stays, once
    assert acl.json("list") == [
        {
            "principal": "User:alice",
            "permission": "ALLOW",
            "operation": "READ",
            "resourceType": "TOPIC",
            "resourceName": "orders-",
            "patternType": "PREFIXED",
            "host": "*",
        },
        {
            "principal": "User:alice",
            "permission": "ALLOW",
            "operation": "READ",
            "resourceType": "GROUP",
            "resourceName": "app",
            "patternType": "LITERAL",
            "host": "*",
        },
    ]


def test_several_operations_and_hosts_are_entries_each(acl: Acl) -> None:
    hosts = ("--host", "192.0.2.1", "--host", "192.0.2.2")
    rows = acl.json("grant", "bob", "write,create", "topic", "orders", *hosts)
    assert {(row["operation"], row["host"]) for row in rows} == {
        (operation, host)
        for operation in ("WRITE", "CREATE")
        for host in ("192.0.2.1", "192.0.2.2")
    }
    assert acl.run("grant", "ops", "all", "cluster") == [
        "User:ops may do everything to the cluster"
    ]
    assert acl.run("grant", "*", "describe", "topic", "*") == [
        "everybody may describe every topic"
    ]


def test_what_makes_no_sense_is_refused(acl: Acl) -> None:
    acl.run("grant", "alice", "reed", "topic", "x", code=2)
    assert "'reed' is not known; did you mean read?" in acl.error
    acl.run("grant", "alice", "read", "topik", "x", code=2)
    assert "'topik' is not known; did you mean topic?" in acl.error
    acl.run("grant", "alice", "read", "topic", code=2)
    assert "which topic? Name it; '*' stands for all of them" in acl.error
    acl.run("grant", "alice", "alter", "cluster", "x", code=2)
    assert "there is one cluster; leave x out" in acl.error
    assert acl.json("list") == []


def test_a_broker_without_an_authorizer_says_so(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_broker(tmp_path_factory.mktemp("open") / "data") as broker:
        given = ["alice", "read", "topic", "x", "--bootstrap-server", broker.address]
        assert main(["acl", "grant", *given]) == 1
        assert "SECURITY_DISABLED" in capsys.readouterr().err
        asked = ["--bootstrap-server", broker.address]
        assert main(["acl", "list", *asked]) == 1
        assert main(["acl", "explain", *given]) == 1
        assert main(["acl", "revoke", *given]) == 1


def test_what_is_never_asked_of_a_kind_is_no_grant(acl: Acl) -> None:
    for operations, kind, word in (
        ("create-tokens", ["topic", "x"], "create-tokens"),
        ("read,write", ["group", "x"], "write"),
        ("read", ["cluster"], "read"),
        ("alter", ["user", "User:x"], "alter"),
    ):
        for action in ("grant", "deny"):
            acl.run(action, "alice", operations, *kind, code=2)
            assert f"{word} is nothing that is done to a {kind[0]}; there" in acl.error
    acl.run("grant", "alice", "all", "user", "User:x")
    assert len(acl.json("list")) == 1
