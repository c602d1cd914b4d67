import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.metadata.access import access as access_module
from odradek.broker.metadata.access.access import EVERYTHING, Access, Rules
from odradek.broker.metadata.access.acl_index import AclIndex
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.acls import Operation, ResourceType
from tests.fakes.access import entry
from tests.plain import access as plain

TOPIC = ResourceType.TOPIC
NAMES = ("*", "a", "ab", "abc", "b", "orders", "orders-1", "ord")
PRINCIPALS = ("User:alice", "User:bob", "User:*", "Group:x")
HOSTS = ("*", "10.0.0.1", "10.0.0.0/8")
OPERATIONS = tuple(Operation)[2:]
KINDS = (ResourceType.TOPIC, ResourceType.GROUP)

entries_of_lists = st.lists(
    st.builds(
        AclEntry,
        st.sampled_from(KINDS),
        st.sampled_from(NAMES),
        st.sampled_from((3, 4)),
        st.sampled_from(PRINCIPALS),
        st.sampled_from(HOSTS),
        st.sampled_from(OPERATIONS),
        st.sampled_from((2, 3)),
    ),
    max_size=12,
)
whoever = st.tuples(st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS[1:]))


def access(*entries: AclEntry, who: str = "User:alice", host: str = "h") -> Access:
    return Access(Rules(AclIndex(entries)), who, host)


def test_without_an_entry_nobody_may_anything() -> None:
    assert not access().may(Operation.READ, TOPIC, "a")
    assert access().operations(TOPIC, "a") == 0


def test_a_deny_wins_over_all_that_allow() -> None:
    both = access(entry(Operation.ALL, "*"), entry(Operation.READ, "a", denies=True))
    assert not both.may(Operation.READ, TOPIC, "a")
    assert both.may(Operation.READ, TOPIC, "b")
    assert both.may(Operation.DESCRIBE, TOPIC, "a"), "a deny implies nothing"


def test_only_what_allows_implies() -> None:
    for operation in ("READ", "WRITE", "DELETE", "ALTER"):
        it = access(entry(Operation[operation], "a"))
        assert it.may(Operation.DESCRIBE, TOPIC, "a")
    assert access(entry(Operation.ALTER_CONFIGS, "a")).may(
        Operation.DESCRIBE_CONFIGS, TOPIC, "a"
    )
    assert not access(entry(Operation.CREATE, "a")).may(Operation.DESCRIBE, TOPIC, "a")


def test_a_prefixed_star_is_a_prefix() -> None:
    """A18"""
    it = access(entry(Operation.READ, "*", prefixed=True))
    assert it.may(Operation.READ, TOPIC, "*x")
    assert not it.may(Operation.READ, TOPIC, "x")


def test_a_network_as_host_is_no_host() -> None:
    """A18"""
    it = access(entry(Operation.READ, "a", host="10.0.0.0/8"), host="10.0.0.1")
    assert not it.may(Operation.READ, TOPIC, "a")


def test_super_users_and_untouched_resources() -> None:
    deny = entry(Operation.ALL, "a", denies=True)
    rules = Rules(AclIndex([deny]), frozenset({"User:root"}), allows_untouched=True)
    assert Access(rules, "User:root", "h").operations(TOPIC, "a") == EVERYTHING
    assert not Access(rules, "User:bob", "h").may(Operation.READ, TOPIC, "a")
    assert Access(rules, "User:bob", "h").may(Operation.READ, TOPIC, "b")


def test_the_deciding_rule_is_told() -> None:
    deny = entry(Operation.READ, "a", denies=True)
    allow = entry(Operation.WRITE, "a")
    it = access(deny, allow)
    assert it.rule(Operation.READ, TOPIC, "a") == deny
    assert it.rule(Operation.DESCRIBE, TOPIC, "a") == allow
    assert it.rule(Operation.READ, TOPIC, "b") == "DefaultDeny"
    rules = Rules(AclIndex([deny]), frozenset({"User:root"}), allows_untouched=True)
    assert Access(rules, "User:root", "").rule(3, TOPIC, "a") == "SuperUser"
    assert Access(rules, "User:bob", "").rule(3, TOPIC, "b") == "DefaultAllow"
    assert Access(rules, "User:bob", "").rule(3, TOPIC, "a") == "DefaultDeny"


def test_any_topic_is_one_that_no_deny_covers() -> None:
    write = Operation.WRITE
    allow = entry(write, "ab", prefixed=True)
    assert access(allow).may_any(write, TOPIC)
    assert access(allow, entry(write, "abc", denies=True)).may_any(write, TOPIC)
    for deny in (
        entry(write, "*", denies=True),
        entry(write, "a", prefixed=True, denies=True),
        entry(Operation.ALL, "ab", prefixed=True, denies=True),
    ):
        assert not access(allow, deny).may_any(write, TOPIC)
    literal = entry(write, "ab")
    assert not access(literal, entry(write, "ab", denies=True)).may_any(write, TOPIC)
    assert not access(entry(Operation.READ, "ab")).may_any(write, TOPIC)


def test_decisions_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_module, "DECISIONS_MAX", 10)
    it = access(entry(Operation.READ, "7"))
    answers = [it.may(Operation.READ, TOPIC, str(number)) for number in range(100)]
    assert answers == [number == 7 for number in range(100)]
    assert len(it._known) <= 10


@given(entries_of_lists, whoever, st.booleans())
def test_the_index_decides_as_entry_by_entry(
    entries: list[AclEntry], who: tuple[str, str], allows_untouched: bool
) -> None:
    """S019"""
    rules = Rules(AclIndex(entries), allows_untouched=allows_untouched)
    it = Access(rules, *who)
    for kind in KINDS:
        for name in NAMES:
            for operation in OPERATIONS:
                wanted = plain.may(
                    entries,
                    who,
                    operation,
                    kind,
                    name,
                    allows_untouched=allows_untouched,
                )
                assert it.may(operation, kind, name) == wanted, (operation, name)


@given(entries_of_lists, whoever)
def test_any_topic_as_entry_by_entry(
    entries: list[AclEntry], who: tuple[str, str]
) -> None:
    it = Access(Rules(AclIndex(entries)), *who)
    for operation in (Operation.WRITE, Operation.READ):
        wanted = plain.may_any(entries, who, operation, TOPIC)
        assert it.may_any(operation, TOPIC) == wanted


def test_a_decision_looks_at_few_of_many_entries() -> None:
    rng = random.Random(7)
    many = [
        entry(
            rng.choice(OPERATIONS),
            f"topic-{number}",
            principal=f"User:{number % 100}",
            prefixed=number % 2 == 0,
        )
        for number in range(10_000)
    ]
    index = AclIndex(many)
    looked_at = list(index.matching("User:7", "h", TOPIC, "topic-1007"))
    assert {each.resource_name for each in looked_at} == {"topic-1007"}
