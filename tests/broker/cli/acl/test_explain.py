import pytest

from odradek.broker.cli.main import main
from tests.secure_broker import SecureBroker

from .conftest import Acl


def test_the_entry_that_decides_is_told(acl: Acl) -> None:
    acl.run("grant", "alice", "read", "topic", "orders-*")
    assert acl.run("explain", "alice", "read", "topic", "orders-eu") == [
        "yes: User:alice may read topic orders-eu",
        "decided by: User:alice may read every topic that begins with orders-",
    ]
    assert acl.run("explain", "alice", "describe", "topic", "orders-eu")[1:] == [
        "decided by: User:alice may read every topic that begins with orders-",
        "who may read may describe, too",
    ]
    assert acl.run("explain", "alice", "write", "topic", "orders-eu") == [
        "no: User:alice may not write topic orders-eu",
        "no entry grants it; this would: odradek acl grant alice write topic orders-eu",
    ]


def test_what_is_offered_would_do(acl: Acl) -> None:
    for asked in (
        ("al ice", "describe-configs", "topic", "x"),
        ("bob", "alter", "cluster"),
        ("bob", "write", "transactional-id", "t"),
        ("bob", "describe", "token", "t"),
        ("bob", "create-tokens", "user", "User:x"),
    ):
        _, offered = acl.run("explain", *asked)
        command = offered.partition("this would: odradek acl ")[2]
        import shlex

        acl.run(*shlex.split(command))
        assert acl.run("explain", *asked)[0].startswith("yes: "), asked


def test_hosts_and_denials(acl: Acl) -> None:
    acl.run("grant", "bob", "write", "topic", "orders")
    acl.run("deny", "*", "write", "topic", "orders", "--host", "192.0.2.1")
    assert acl.run("explain", "bob", "write", "topic", "orders") == [
        "yes: User:bob may write topic orders",
        "decided by: User:bob may write topic orders",
        "but: everybody may not write topic orders from 192.0.2.1",
    ]
    here = ("--host", "192.0.2.1")
    assert acl.run("explain", "bob", "write", "topic", "orders", *here) == [
        "no: User:bob may not write topic orders from 192.0.2.1",
        "decided by: everybody may not write topic orders from 192.0.2.1",
        "what forbids is stronger than all that grants",
    ]


def test_a_super_user_may(acl: Acl) -> None:
    assert acl.run("explain", "admin", "delete", "topic", "x")[1] == (
        "decided by: User:admin is one of super.users"
    )
    (row,) = acl.json("explain", "admin", "delete", "topic", "x")
    assert row == {"allowed": True, "entry": None, "rule": "SuperUser"}


def test_who_may_not_see_the_options_is_told(
    guarded: SecureBroker, acl: Acl, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(guarded.process.data_dir)
    password = guarded.folder.path / "carol"
    password.write_text("open sesame\n")
    given = ["carol", "--password-file", str(password), "--data-dir", data]
    assert main(["user", "set", *given]) == 0
    file = guarded.folder.path / "carol.properties"
    file.write_text(
        f"security.protocol=SASL_SSL\nssl.ca.location={guarded.folder.keys.ca}\n"
        "sasl.mechanism=SCRAM-SHA-512\nsasl.username=carol\n"
        "sasl.password=open sesame\n"
    )
    as_carol = ["--command-config", str(file), "--bootstrap-server", guarded.address]
    asked = ["acl", "explain", "admin", "read", "topic", "x"]
    assert main([*asked, *as_carol]) == 1
    assert "CLUSTER_AUTHORIZATION_FAILED" in capsys.readouterr().err
    acl.run("grant", "carol", "describe", "cluster")
    assert main([*asked, *as_carol]) == 0
    assert "the broker does not tell us who" in capsys.readouterr().out
