import pytest

from odradek.broker.metadata.access.acl_index import AclIndex, plain_host
from odradek.protocol.acls import Operation, ResourceType
from tests.fakes.access import GROUP, TOPIC, entry

READ = Operation.READ


def test_what_touches_a_name_is_found_once() -> None:
    entries = [
        entry(READ, "ab"),
        entry(READ, "*"),
        entry(READ, "a", prefixed=True),
        entry(READ, "ab", prefixed=True),
        entry(READ, "ab", principal="User:*"),
    ]
    others = [
        entry(READ, "a"),
        entry(READ, "abc", prefixed=True),
        entry(READ, "ab", principal="User:bob"),
        entry(READ, "ab", kind=GROUP),
        entry(READ, "ab", host="10.0.0.2"),
    ]
    index = AclIndex(entries + others)
    found = list(index.matching("User:alice", "10.0.0.1", TOPIC, "ab"))
    assert sorted(found) == sorted(entries)


def test_the_star_itself_is_a_name_too() -> None:
    index = AclIndex([entry(READ, "*")])
    assert len(list(index.matching("User:alice", "h", TOPIC, "*"))) == 1


def test_whoever_it_is_for_an_entry_touches() -> None:
    index = AclIndex([entry(READ, "a", principal="User:bob", prefixed=True)])
    assert index.touches(TOPIC, "ab")
    assert not index.touches(TOPIC, "b")
    assert not index.touches(GROUP, "ab")


def test_it_knows_whether_hosts_matter() -> None:
    assert not AclIndex([entry(READ, "a")]).names_hosts
    assert AclIndex([entry(READ, "a", host="10.0.0.1")]).names_hosts


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("*", "*"),
    ],
)
def test_addresses_are_compared_in_one_form(written: str, plain: str) -> None:
    assert plain_host(written) == plain


def test_of_a_type_all_that_holds_is_found() -> None:
    mine = entry(READ, "a"), entry(READ, "b", prefixed=True)
    index = AclIndex([*mine, entry(READ, "c", principal="User:bob")])
    found = index.of_type("User:alice", "h", ResourceType.TOPIC)
    assert sorted(found) == sorted(mine)
