import pytest

from odradek.broker.metadata.access import authorizer as authorizer_module
from odradek.protocol.acls import Operation
from tests.fakes.access import TOPIC, entry, fake_authorizer

READ = Operation.READ
ALICE = "User:alice"


def test_a_change_is_in_force_at_once_and_told() -> None:
    authorizer, acls = fake_authorizer(entry(READ, "a"))
    told: list[bool] = []
    authorizer.watch(
        lambda: told.append(authorizer.access_of(ALICE, "h").may(READ, TOPIC, "a"))
    )
    assert authorizer.access_of(ALICE, "h").may(READ, TOPIC, "a")
    acls.become()
    assert told == [False]


def test_hosts_are_known_apart_when_an_entry_names_one() -> None:
    authorizer, acls = fake_authorizer(entry(READ, "a"))
    one, other = "10.0.0.1", "10.0.0.2"
    assert authorizer.access_of(ALICE, one) is authorizer.access_of(ALICE, other)
    assert authorizer.host_of(one) == authorizer.host_of(other)
    acls.become(entry(READ, "a", host=one))
    assert authorizer.access_of(ALICE, one).may(READ, TOPIC, "a")
    assert authorizer.access_of(ALICE, f"::ffff:{one}").may(READ, TOPIC, "a")
    assert not authorizer.access_of(ALICE, other).may(READ, TOPIC, "a")
    assert authorizer.host_of(one) != authorizer.host_of(other)


def test_strangers_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorizer_module, "ACCESSES_MAX", 10)
    authorizer, _ = fake_authorizer()
    for number in range(100):
        authorizer.access_of(f"User:{number}", "h")
    assert len(authorizer._accesses) <= 10
