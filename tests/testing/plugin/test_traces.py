"""What of a broker's state is one test's."""

from pathlib import Path
from typing import Any

import pytest

from odradek.testing import BrokerError
from odradek.testing.external import NotOffered
from odradek.testing.names import Names
from odradek.testing.plugin import traces as traces_module
from odradek.testing.plugin.traces import Traces, asked
from odradek.testing.plugin.used import Used

from .fake_broker import FakeBroker

MEMBER = {"client": "c", "assigned": [["some", 0]]}


def group(name: str, **said: Any) -> dict[str, Any]:
    empty = {"kind": "group", "group": name, "state": "Empty", "members": []}
    return {**empty, "offsets": [], **said}


def transaction(name: str, state: str, *topics: str) -> dict[str, Any]:
    partitions = [[topic, 0] for topic in topics]
    return {"kind": "transaction", "id": name, "state": state, "partitions": partitions}


@pytest.fixture
def broker(tmp_path: Path) -> FakeBroker:
    broker = FakeBroker(tmp_path)
    offset = {"topic": "my-topic", "partition": 0, "offset": 1, "lag": 0}
    reading = {"client": "d", "assigned": [["my-topic", 1]]}
    broker.answers["state"] = [
        {"kind": "broker", "connections": 5},
        group("mine", state="Stable", members=[MEMBER]),
        group("other", state="Stable", members=[MEMBER]),
        group("of-my-topic", offsets=[offset]),
        group("reading-my-topic", members=[reading]),
        transaction("my-id", "Ongoing"),
        transaction("done", "CompleteCommit"),
        transaction("other", "Ongoing", "some"),
        transaction("to-my-topic", "PrepareAbort", "my-topic"),
    ]
    broker.answers["faults.list"] = [
        {"id": 1, "match": {"topic": "my-topic"}, "count": 0},
        {"id": 2, "match": {"topic": "my-topic"}, "count": 1},
        {"id": 3, "match": {"topic": "other"}, "count": 0},
        {"id": 4, "match": {"api": "Produce", "group": "mine"}, "count": 0},
        {"id": 5, "match": {"transactional_id": "my-id"}, "count": 0},
    ]
    return broker


@pytest.fixture
def used(broker: FakeBroker) -> Used:
    used = Used(Names("main"), [broker])
    broker.make("my-topic")
    used.add_group("mine")
    used.add_transactional_id("my-id")
    used.add_transactional_id("done")
    return used


def test_on_a_shared_broker_a_test_sees_its_own(broker: FakeBroker, used: Used) -> None:
    traces = Traces(broker, used)
    named = [each["group"] for each in traces.groups()]
    assert named == ["mine", "of-my-topic", "reading-my-topic"]
    active = [each["group"] for each in traces.active_groups()]
    assert active == ["mine", "reading-my-topic"]
    ids = [each["id"] for each in traces.open_transactions()]
    assert ids == ["my-id", "to-my-topic"]
    assert [rule["id"] for rule in traces.unfired_rules()] == [1, 4, 5]


def test_on_a_broker_of_its_own_all_is_its_own(broker: FakeBroker, used: Used) -> None:
    broker.is_shared = False
    traces = Traces(broker, used)
    assert len(traces.groups()) == 4
    assert len(traces.open_transactions()) == 3
    assert len(traces.unfired_rules()) == 4


def test_a_broker_that_knows_of_no_state_has_none(tmp_path: Path) -> None:
    traces = Traces(FakeBroker(tmp_path), Used(Names("main")))
    assert traces.groups() == traces.unfired_rules() == traces.open_transactions() == []


def test_a_kafka_that_is_no_odradek_has_none(broker: FakeBroker) -> None:
    broker.answers["state"] = NotOffered("it cannot be asked for state")
    assert asked(broker, "state") == []


def test_what_a_broker_refuses_is_an_error(broker: FakeBroker) -> None:
    broker.answers["state"] = BrokerError("the broker does not answer")
    with pytest.raises(BrokerError, match="does not answer"):
        asked(broker, "state")


def test_one_that_stands_still_is_not_waited_for(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    go_on = threading.Event()
    monkeypatch.setattr(traces_module, "PATIENCE_S", 0)
    monkeypatch.setattr(broker, "ask", lambda request: go_on.wait())
    with pytest.raises(BrokerError, match="says nothing for 0 s"):
        asked(broker, "state")
    go_on.set()
