import argparse

import pytest

from odradek.broker.cli.acl.words import (
    KINDS,
    Resource,
    as_json,
    entry,
    entry_text,
    host,
    kind_text,
    one_operation,
    operations,
    principal,
    resource,
    resource_type,
    rows,
)
from odradek.protocol.acl_entries import PatternType, Permission
from odradek.protocol.acls import Operation, ResourceType

TOPIC = ResourceType.TOPIC


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("alice", "User:alice"),
        ("*", "User:*"),
        ("User:alice", "User:alice"),
        ("Group:x", "Group:x"),
        ("CN=alice,O=x:y", "User:CN=alice,O=x:y"),
        ("User:CN=alice", "User:CN=alice"),
    ],
)
def test_who_is_meant(typed: str, meant: str) -> None:
    assert principal(typed) == meant


@pytest.mark.parametrize("typed", ["", "User:", ":x", "a b:c"])
def test_nobody_is_refused(typed: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is nobody"):
        principal(typed)


def test_operations_in_any_case() -> None:
    assert operations("READ,describe_configs") == [
        Operation.READ,
        Operation.DESCRIBE_CONFIGS,
    ]
    with pytest.raises(argparse.ArgumentTypeError, match="name one of"):
        operations("")
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean write"):
        operations("wrte")
    assert one_operation("all") is Operation.ALL
    with pytest.raises(argparse.ArgumentTypeError, match="at a time"):
        one_operation("read,write")
    every = [each for each in Operation if each.value > 1]
    assert operations(",".join(each.name for each in every)) == every


def test_kinds_have_one_word_each() -> None:
    assert all(kind_text(resource_type(word)) == word for word in KINDS)
    assert resource_type("txn") is ResourceType.TRANSACTIONAL_ID
    assert resource_type("TRANSACTIONAL_ID") is ResourceType.TRANSACTIONAL_ID
    with pytest.raises(argparse.ArgumentTypeError, match="there are topic, group"):
        resource_type("wildebeest")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("*", "*"),
        ("192.0.2.1", "192.0.2.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::00ff", "2001:db8:0:0:0:0:0:ff"),
    ],
)
def test_an_address_is_written_as_java_does(text: str, written: str) -> None:
    assert host(text) == written


@pytest.mark.parametrize("text", ["", "10.0.0.0/8", "example.com", "192.0.2.*", "1"])
def test_an_entry_for_what_is_no_address_would_do_nothing(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no address; an entry is"):
        host(text)


def test_a_last_star_is_a_prefix() -> None:
    assert resource(TOPIC, "a*") == Resource(TOPIC, "a", PatternType.PREFIXED)
    assert resource(TOPIC, "*") == Resource(TOPIC, "*")
    assert resource(TOPIC, "a") == Resource(TOPIC, "a")
    assert resource(TOPIC, "a*", is_literal=True) == Resource(TOPIC, "a*")


def test_an_entry_is_a_sentence_and_a_row() -> None:
    what = Resource(TOPIC, "a", PatternType.PREFIXED)
    each = entry("User:*", Operation.ALL, what, "192.0.2.1", Permission.DENY)
    assert entry_text(each) == (
        "everybody may not do everything to every topic that begins with a"
        " from 192.0.2.1"
    )
    assert rows([each]) == [("User:*", "deny", "all", "topic", "a*", "192.0.2.1")]
    assert as_json(each)["patternType"] == "PREFIXED"
