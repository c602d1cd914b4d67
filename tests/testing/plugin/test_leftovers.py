"""With --odradek-strict a test fails that leaves something behind."""

from pathlib import Path

import pytest

from odradek.testing import BrokerError
from odradek.testing.names import Names
from odradek.testing.plugin.leftovers import check_leftovers
from odradek.testing.plugin.used import Used

from .fake_broker import FakeBroker


def test_each_thing_has_a_line(tmp_path: Path) -> None:
    broker, used = FakeBroker(tmp_path), Used(Names("main"))
    used.add_group("g")
    used.add_transactional_id("t")
    group = {"kind": "group", "group": "g", "state": "Stable", "members": [{}]}
    transaction = {"kind": "transaction", "id": "t", "state": "Ongoing"}
    broker.answers["state"] = [group, transaction]
    broker.answers["faults.list"] = [{"id": 7, "match": {"group": "g"}, "count": 0}]
    with pytest.raises(pytest.fail.Exception) as failed:
        check_leftovers(broker, used)
    group, transaction, rule = str(failed.value).splitlines()[1:]
    assert "group g with 1 members" in group
    assert "transaction of t, Ongoing" in transaction
    assert "rule 7 for {'group': 'g'}" in rule


def test_who_leaves_nothing_passes(tmp_path: Path) -> None:
    broker, used = FakeBroker(tmp_path), Used(Names("main"))
    broker.answers["state"] = [{"kind": "group", "group": "other", "members": [{}]}]
    check_leftovers(broker, used)


def test_with_a_broker_all_of_it_has_ended(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path)
    broker.answers["state"] = BrokerError("the broker does not answer")
    check_leftovers(broker, Used(Names("main")))
