"""What a test has made, apart from what was there before it."""

from pathlib import Path

from odradek.testing.names import Names
from odradek.testing.plugin.used import Used

from .fake_broker import FakeBroker


def test_what_was_there_before_is_not_the_tests(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path)
    broker.say("before\n")
    broker.make("before")
    used = Used(Names("main"), [broker])
    broker.say("during\n")
    topic = broker.make("during")
    assert used.log(broker) == "during\n"
    assert used.topics(broker) == [topic]


def test_of_a_broker_that_it_has_started_all_is_the_tests(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path)
    broker.say("ready\n")
    used = Used(Names("main"))
    assert used.log(broker) == "ready\n"
    used.found(broker)
    assert used.log(broker) == ""


def test_lines_of_other_workers_are_left_out(tmp_path: Path) -> None:
    broker = FakeBroker(tmp_path)
    used = Used(Names("gw1"), [broker])
    broker.say("topic a-gw0-1 is deleted\ntopic b-gw1-1 is deleted\n")
    assert used.log(broker) == "topic b-gw1-1 is deleted\n"


def test_ids_are_noted(tmp_path: Path) -> None:
    used = Used(Names("main"))
    assert used.add_group("g") == "g"
    assert used.add_transactional_id("t") == "t"
    assert (used.groups, used.transactional_ids) == (["g"], ["t"])
