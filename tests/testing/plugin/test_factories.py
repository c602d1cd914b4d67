"""Fixtures of a project's own: options, lifetimes, snapshots, other Kafkas."""

import pytest

from odradek.testing import Broker
from tests.testing.inner import run_inside

pytest_plugins = ("pytester",)

SOURCE = """
import pytest
from odradek.testing import SharedBroker

def test_one_of_a_session_is_shared(kafka, odradek):
    assert kafka.topic("t")
    assert kafka.pid != odradek.pid
    with pytest.raises(SharedBroker):
        kafka.kill()

def test_one_of_a_module_belongs_to_it(of_module):
    of_module.kill()
    of_module.start()
    of_module.topic("t")

def test_it_is_the_same_in_the_next_test(of_module):
    of_module.ask("topics.delete", topics=["t"])

def test_one_that_is_there_already(there):
    topic = there.topic("t")
    with pytest.raises(Exception, match="exists"):
        there.topic("t")
"""

CONFTEST = """
from odradek.testing import factories

kafka = factories.broker(scope="session", config={{"num.partitions": 2}})
of_module = factories.broker(scope="module")
there = factories.external("{there}")
"""


def test_fixtures_are_made(pytester: pytest.Pytester) -> None:
    with Broker() as there:
        conftest = CONFTEST.format(there=there.bootstrap)
        run_inside(pytester, SOURCE, conftest=conftest).assert_outcomes(passed=4)
        assert there.ask("topics.delete", topics=["t"])
