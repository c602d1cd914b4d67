"""``odradek acl``, ``token`` and ``user`` on Apache Kafka with an authorizer.

What our command makes Kafka's own tool lists, and the other way round.
"""

import re
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.acl.words import KINDS
from odradek.protocol.acls import Operation
from tests.apache_kafka.java_client import JavaClient, JavaFailure
from tests.apache_kafka.secure_node import SecureKafka, running_secure_kafka
from tests.apache_kafka.security_commands import (
    ACLS,
    Desk,
    Entry,
    entries_of,
    until,
)

TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
OPTIONS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
DAY_MS = 86_400_000
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with running_secure_kafka(tmp_path_factory.mktemp("guarded"), OPTIONS) as node:
        yield node


@pytest.fixture
def desk(
    kafka: SecureKafka,
    java: JavaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Desk:
    found = Desk(kafka, java, tmp_path, capsys)
    found.revoke_all()
    return found


def user(desk: Desk, name: str) -> Path:
    """The options of a user who can log in."""
    (made, *_) = desk.json("user", "set", name, "--generate")
    file = desk.user_file(name, made["password"])

    def is_in() -> bool:
        try:
            desk.ours("topic", "list", file=file)
        except AssertionError:
            return False
        return True

    until(is_in)
    return file


EVERY = [each.name for each in Operation if each.name not in ("UNKNOWN", "ANY")]
OF_TOPICS = "read,write,create,delete,alter,describe,describe-configs,alter-configs,all"
GRANTS = (
    ("grant", "alice", "read,write", "topic", "orders-*", "--group", "app-*"),
    ("grant", "alice", "all", "topic", "*", "--host", "192.0.2.1"),
    ("grant", "User:CN=bob,O=x", "describe", "topic", "orders*", "--literal"),
    ("deny", "*", "delete", "group", "app-1", "--host", "192.0.2.1", "--host", "::1"),
    ("grant", "ops", "cluster-action,idempotent-write", "cluster"),
    ("grant", "ops", "two_phase_commit", "transactional-id", "etl-*"),
    ("grant", "ops", "describe", "token", "an-id", "--group", "a", "--group", "b"),
    ("deny", "ops", "create-tokens,describe-tokens", "user", "User:bob"),
    ("deny", "eve", OF_TOPICS, "topic", "all"),
)
TOUCHING = ("--resource-pattern-type", "match")


def test_what_we_grant_and_deny_kafkas_tool_lists(desk: Desk) -> None:
    said = [entries_of(desk.json("acl", *words)) for words in GRANTS]
    wanted = set().union(*said)
    assert {each.operation for each in wanted} == set(EVERY)
    assert {each.kind for each in wanted} == {each.name for each in KINDS.values()}
    assert len(wanted) == 3 + 1 + 1 + 2 + 2 + 1 + 3 + 2 + 9
    assert (
        Entry("User:alice", "ALLOW", "READ", "GROUP", "app-", "PREFIXED", "*") in wanted
    )
    until(lambda: desk.their_entries() == wanted)
    assert desk.entries() == wanted
    assert desk.entries("alice") == desk.their_entries("--principal", "User:alice")
    for kind, name in (("topic", "orders-eu"), ("topic", "all"), ("group", "app-1")):
        touching = desk.entries(f"--{kind}", name)
        assert touching == desk.their_entries(f"--{kind}", name, *TOUCHING)
        assert touching
    both = desk.entries("alice", "--topic", "orders-eu")
    assert {each.principal for each in both} == {"User:alice"}
    assert len(both) == 3
    for action, *words in GRANTS:
        desk.ours("acl", "revoke", *words, *["--deny"] * (action == "deny"))
    until(lambda: not desk.their_entries())
    assert desk.ours("acl", "list") == ["no entries"]
    desk.ours("acl", "revoke", *GRANTS[0][1:], code=1)
    assert "there is no such entry" in desk.error


ADDED = (
    ("--allow-principal", "User:carol", "--producer", "--topic", "orders")
    + ("--transactional-id", "etl", "--idempotent"),
    ("--allow-principal", "User:carol", "--consumer", "--topic", "*", "--group", "app"),
    ("--deny-principal", "User:*", "--deny-host", "192.0.2.1", "--operation", "Write")
    + ("--topic", "orders-", "--resource-pattern-type", "prefixed"),
    ("--allow-principal", "User:CN=x, O=y", "--allow-host", "2001:db8::1", "--cluster"),
    ("--allow-principal", "User:dan", "--operation", "CreateTokens")
    + ("--user-principal", "User:bob"),
    ("--allow-principal", "User:dan", "--operation", "Describe")
    + ("--delegation-token", "an-id"),
)


@pytest.mark.long
def test_what_kafkas_tool_adds_we_list_explain_and_revoke(desk: Desk) -> None:
    for words in ADDED:
        desk.tool(ACLS, "--add", *words)
    until(lambda: len(desk.their_entries()) == 13)
    entries = desk.their_entries()
    assert desk.entries() == entries
    explained = ("acl", "explain", "carol", "write", "topic")
    assert desk.json(*explained, "orders")[0]["allowed"] is True
    (denied,) = desk.json(*explained, "orders-eu", "--host", "192.0.2.1")
    assert denied["allowed"] is False
    assert denied["entry"]["principal"] == "User:*"
    gone = set()
    for each in entries:
        gone |= entries_of(desk.json("acl", "revoke", *each.arguments))
    assert gone == entries
    until(lambda: not desk.their_entries())


@pytest.mark.long
def test_explain_says_what_kafka_does(desk: Desk) -> None:
    topics = ("orders-eu", "orders-us", "secret", "others")
    for name in topics:
        desk.tool(TOPICS, "--create", "--if-not-exists", "--topic", name)
    alice = user(desk, "alice")
    desk.ours("acl", "grant", "alice", "read", "topic", "orders-*")
    desk.ours("acl", "deny", "alice", "describe", "topic", "orders-us")
    desk.ours("acl", "grant", "*", "alter", "topic", "others")
    desk.ours("acl", "grant", "alice", "all", "topic", "secret", "--host", "192.0.2.1")
    seen = {"orders-eu", "others"}

    def explained(name: str) -> bool:
        found = desk.json("acl", "explain", "alice", "describe", "topic", name)
        return bool(found[0]["allowed"])

    def listed() -> set[str]:
        return {each["topic"] for each in desk.json("topic", "list", file=alice)}

    until(lambda: {name for name in topics if explained(name)} == seen)
    until(lambda: listed() == seen)
    # Kafka names the super users to nobody.
    (row,) = desk.json("acl", "explain", "ANONYMOUS", "alter", "cluster")
    assert (row["allowed"], row["untold"]) == (False, ["super.users"])


@pytest.mark.long
def test_who_may_not_is_told_so(desk: Desk) -> None:
    alice = user(desk, "alice")
    for words in (
        ("acl", "list"),
        ("acl", "explain", "alice", "read", "topic", "x"),
        ("acl", "grant", "alice", "all", "cluster"),
        ("acl", "deny", "bob", "all", "topic", "*"),
        ("acl", "revoke", "alice", "all", "cluster"),
        ("user", "set", "mallory", "--generate"),
        ("user", "remove", "alice", "--mechanism", "SCRAM-SHA-256"),
    ):
        desk.ours(*words, file=alice, code=1)
        assert "CLUSTER_AUTHORIZATION_FAILED: " in desk.error, words
    assert not desk.entries()


def test_a_token_of_ours_logs_kafkas_tool_in(desk: Desk) -> None:
    alice = user(desk, "alice")
    desk.ours("acl", "grant", "alice", "create", "cluster")
    asked = ("--renewer", "bob", "--renewer", "User:carol", "--max-lifetime", "2d")
    printed = desk.ours("token", "create", *asked, file=alice)
    (token_id,) = re.findall(r"^# (\S{22}) logs in User:alice until ", printed[0])
    lent = desk.options_file("sasl.mechanism=SCRAM-SHA-512", *printed)
    shown = ""

    def described() -> str:
        nonlocal shown
        of = ("--describe", "--owner-principal", "User:alice")
        shown = desk.tool(TOKENS, *of, file=alice)
        return shown

    until(lambda: token_id in described())
    (line,) = [line for line in shown.splitlines() if token_id in line]
    assert "User:bob" in line
    assert "User:carol" in line
    desk.tool(TOPICS, "--create", "--topic", "by-our-token", file=lent)
    desk.ours("topic", "list", file=lent)
    desk.ours("token", "list", file=lent, code=1)
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: " in desk.error
    (row,) = desk.json("token", "list", file=alice)
    assert row["token"] == token_id
    assert row["max_ms"] - row["issue_ms"] == 2 * DAY_MS
    (renewed,) = desk.json("token", "renew", token_id, "--period", "3h", file=alice)
    assert 0 < renewed["expiry_ms"] - row["issue_ms"] - 3 * HOUR_MS < HOUR_MS
    (ends,) = desk.json("token", "expire", token_id, "--in", "1h", file=alice)
    assert ends["expiry_ms"] < renewed["expiry_ms"]
    desk.ours("token", "expire", token_id, file=alice)
    until(lambda: token_id not in described())
    desk.ours("token", "renew", token_id, file=alice, code=1)
    assert "DELEGATION_TOKEN_NOT_FOUND: " in desk.error


@pytest.mark.long
def test_a_token_of_kafkas_tool_we_show_renew_and_end(desk: Desk) -> None:
    alice, bob = user(desk, "alice"), user(desk, "bob")
    made = desk.tool(
        TOKENS,
        *("--create", "--max-life-time-period", "-1"),
        *("--renewer-principal", "User:bob"),
        file=alice,
    )
    token_id, secret = re.findall(r"^(\S{22})\s+(\S{88})\s", made, re.MULTILINE)[0]
    rows: list[dict[str, Any]] = []

    def is_listed() -> bool:
        rows[:] = desk.json("token", "list", file=bob)
        return token_id in [row["token"] for row in rows]

    until(is_listed)
    (row,) = (each for each in rows if each["token"] == token_id)
    assert row["owner"] == "User:alice"
    assert row["renewers"] == ["User:bob"]
    assert secret not in str(row)
    desk.ours("token", "renew", token_id, "--period", "2h", file=bob)
    assert secret not in "".join(desk.ours("token", "list", file=alice))
    desk.ours("token", "expire", token_id, file=bob)
    listed = ("token", "list", "--owner", "alice")
    until(lambda: token_id not in "".join(desk.ours(*listed, file=alice)))


@pytest.mark.long
def test_a_token_of_somebody_else_needs_a_right(desk: Desk) -> None:
    alice = user(desk, "alice")
    desk.ours("token", "create", "--owner", "bob", file=alice, code=1)
    assert "DELEGATION_TOKEN_AUTHORIZATION_FAILED: " in desk.error
    desk.ours("acl", "grant", "alice", "create-tokens", "user", "User:bob")
    until(lambda: desk.their_entries())
    (made,) = desk.json("token", "create", "--owner", "bob", file=alice)
    assert made["owner"] == "User:bob"
    assert made["requester"] == "User:alice"
    lent = desk.user_file(made["token"], made["hmac"])
    lent.write_text(lent.read_text().replace('";', '" tokenauth="true";'))
    desk.ours("acl", "grant", "bob", "create", "topic", "of-bob")
    until(lambda: len(desk.their_entries()) == 2)
    desk.ours("topic", "create", "of-bob", file=lent)


@pytest.mark.long
def test_users_of_ours_and_of_kafkas_tool(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = ("--entity-type", "users")
    monkeypatch.setattr(sys, "stdin", StringIO("open sesame\n"))
    desk.ours("user", "set", "erin", "--iterations", "5000")
    described = ""

    def is_described() -> bool:
        nonlocal described
        described = desk.tool(CONFIGS, "--describe", *users, "--entity-name", "erin")
        return described.count("iterations=5000") == 2

    until(is_described)
    assert "SCRAM-SHA-512" in described
    given = "SCRAM-SHA-256=[iterations=8192,password=hush-hush]"
    desk.tool(
        CONFIGS, "--alter", *users, "--entity-name", "frank", "--add-config", given
    )
    until(lambda: "frank" in "".join(desk.ours("user", "list")))
    (frank,) = desk.json("user", "describe", "frank")
    assert frank["credentials"] == [{"mechanism": "SCRAM-SHA-256", "iterations": 8192}]
    desk.ours("topic", "list", file=desk.user_file("frank", "hush-hush"))
    desk.ours("topic", "list", file=desk.user_file("erin", "open sesame"))
    desk.ours("user", "remove", "erin")
    desk.ours("user", "remove", "frank", "--mechanism", "SCRAM-SHA-256")
    until(lambda: "erin" not in desk.tool(CONFIGS, "--describe", *users))
    desk.ours("topic", "list", file=desk.user_file("erin", "open sesame"), code=1)
    assert "SASL_AUTHENTICATION_FAILED: " in desk.error
    with pytest.raises(JavaFailure, match=r"SaslAuthenticationException|invalid cred"):
        desk.tool(TOPICS, "--list", file=desk.user_file("frank", "hush-hush"))
