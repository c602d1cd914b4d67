"""What the report of a failed test says of its broker."""

from pathlib import Path

import pytest

from odradek.testing import BrokerError, Refused
from odradek.testing.names import Names
from odradek.testing.plugin.report import LOG_LINES_MAX, sections
from odradek.testing.plugin.used import Used

from .fake_broker import FakeBroker


@pytest.fixture
def broker(tmp_path: Path) -> FakeBroker:
    return FakeBroker(tmp_path)


def test_what_has_nothing_to_say_is_left_out(broker: FakeBroker) -> None:
    assert sections([broker], Used(Names("main"))) == []


def test_each_part_has_a_title(broker: FakeBroker) -> None:
    used = Used(Names("main"))
    broker.say("ready\n")
    broker.make("t")
    record = {"topic": "t", "partition": 0, "offset": 5, "value": "ü"}
    place = {"topic": "t", "partition": 0, "offset": 3, "lag": 2}
    group = {
        "kind": "group",
        "group": "g",
        "state": "Stable",
        "members": [{"client": "c"}],
        "offsets": [place],
    }
    transaction = {"kind": "transaction", "id": "x", "state": "Ongoing"}
    broker.answers["records.read"] = [record]
    broker.answers["state"] = [group, transaction]
    rule = {"id": 1, "match": {"topic": "t"}, "count": 0}
    broker.answers["faults.list"] = [rule]
    used.add_transactional_id("x")
    assert sections([broker], used) == [
        ("odradek: log", "ready"),
        (
            "odradek: last records of t",
            '{"partition": 0, "offset": 5, "value": "ü"}',
        ),
        ("odradek: groups", "g: Stable, members: c\n  t-0: committed 3, lag 2"),
        (
            "odradek: open transactions",
            '{"id": "x", "state": "Ongoing"}',
        ),
        (
            "odradek: rules that nothing met",
            '{"id": 1, "match": {"topic": "t"}, "count": 0}',
        ),
    ]


def test_of_much_the_end_is_shown(broker: FakeBroker) -> None:
    broker.say("".join(f"line {number}\n" for number in range(LOG_LINES_MAX + 5)))
    broker.say("x" * 10_000 + "\n")
    [(_, text)] = sections([broker], Used(Names("main")))
    lines = text.splitlines()
    assert lines[:2] == ["(6 lines before)", "line 6"]
    assert len(lines) == LOG_LINES_MAX + 1
    assert len(lines[-1]) < 1000


def test_a_broker_that_has_ended_is_asked_once(broker: FakeBroker) -> None:
    broker.say("Traceback\n")
    broker.answers["state"] = BrokerError("the broker does not answer")
    assert sections([broker], Used(Names("main"))) == [
        ("odradek: log", "Traceback"),
        ("odradek: no more to be told", "the broker does not answer"),
    ]


def test_a_topic_that_is_gone_is_left_out(broker: FakeBroker) -> None:
    broker.make("t")
    broker.answers["records.read"] = Refused("UNKNOWN_TOPIC_OR_PARTITION", "no t")
    assert sections([broker], Used(Names("main"))) == []
