"""T312: the report of a failed test has what its broker saw of it, and no more."""

import pytest

from tests.testing.inner import run_inside

pytest_plugins = ("pytester",)

SOURCE = """
from odradek.testing import TestCase

def test_before(odradek, odradek_topics):
    odradek.topic("of-before").delete()

def test_other(odradek, odradek_topic):
    odradek_topic.produce(["not-to-be-seen"])

def test_failing(odradek, odradek_topic, odradek_group):
    odradek.topic("of-failing").delete()
    odradek_topic.produce(["is-seen"] * 3)
    import confluent_kafka
    consumer = confluent_kafka.Consumer(
        odradek.config("confluent") | {"group.id": odradek_group}
    )
    place = confluent_kafka.TopicPartition(odradek_topic, 0, 1)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()
    assert 0

def test_own(odradek_own):
    odradek_own.topic("of-own").delete()
    assert 0

class TestUnit(TestCase):
    def test_unit(self):
        self.odradek.topic("of-unit").delete()
        assert 0

def test_without_a_broker():
    assert 0
"""


def test_t312_the_log_of_the_test_is_in_its_report(pytester: pytest.Pytester) -> None:
    result = run_inside(pytester, SOURCE)
    result.assert_outcomes(passed=2, failed=4)
    text = result.stdout.str()
    _, failing, own, unit, without = text.split("\n____")
    assert "topic of-failing is deleted" in failing
    assert "topic of-own is deleted" in own
    assert "topic of-unit is deleted" in unit
    assert "odradek: log" not in without
    for section in (failing, own, unit):
        assert section.count("of-") == 2  # in the source, and in the log
    assert "of-before" not in text
    # Its records, and how far its group is behind; nothing of another test's.
    assert failing.count('"value": "is-seen"') == 3
    assert "committed 1, lag 2" in failing
    assert text.count("is-seen") == 4  # once in the source
    assert "not-to-be-seen" not in text


def test_a_fixture_that_fails_is_reported_as_well(pytester: pytest.Pytester) -> None:
    source = """
import pytest

@pytest.fixture
def failing(odradek):
    odradek.topic("of-fixture").delete()
    raise KeyError

def test_it(failing):
    pass
"""
    result = run_inside(pytester, source)
    result.assert_outcomes(errors=1)
    assert "topic of-fixture is deleted" in result.stdout.str()
    assert "watch.py" not in result.stdout.str()


LEAVING = """
import pytest


@pytest.fixture(autouse=True)
def fake(odradek):
    ask = odradek.ask

    def asked(request, **fields):
        if request != "state":
            return ask(request, **fields)
        return [{"kind": "group", "group": "g", "members": [{}]}]

    odradek.ask = asked
    odradek.is_shared = False

def test_leaving():
    pass
"""


@pytest.mark.parametrize(("option", "errors"), [((), 0), (("--odradek-strict",), 1)])
def test_strict_fails_a_test_that_leaves_something(
    pytester: pytest.Pytester, option: tuple[str, ...], errors: int
) -> None:
    result = run_inside(pytester, LEAVING, *option)
    result.assert_outcomes(passed=1, errors=errors)
    assert ("group g with 1 members" in result.stdout.str()) == bool(errors)
    assert "hidden" not in result.stdout.str()
