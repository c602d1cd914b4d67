"""The fixtures as tests use them: T307, T309, T310."""

import pytest

from odradek.testing import Broker
from tests.testing.inner import run_inside

pytest_plugins = ("pytester",)

FIXTURES = """
import re
import pytest
from odradek.testing import SharedBroker

def test_topics(odradek, odradek_topics, odradek_topic):
    first, second = odradek_topics(2, partitions=3, config={"retention.ms": 5})
    assert first != second != odradek_topic
    assert first.partitions == 3
    assert odradek_topic.partitions == 1
    assert "test_topics-main" in odradek_topic

def test_ids(odradek_group, odradek_txn_id):
    assert odradek_group != odradek_txn_id

def test_topics_are_gone_with_their_test(odradek):
    assert "topic test_topics-main-1 is deleted" in odradek.log()

def test_own(odradek, odradek_own):
    assert odradek.pid != odradek_own.pid
    with pytest.raises(SharedBroker, match="odradek_own"):
        odradek.kill()
    topic = odradek_own.topic("t")
    bootstrap = odradek_own.bootstrap
    odradek_own.kill()
    odradek_own.start()
    assert odradek_own.bootstrap == bootstrap
    topic.delete()

@pytest.mark.parametrize("value", ["a/b-ü", "a test with spaces", "n" * 400, "N" * 400])
def test_t310_names(odradek_topics, value):
    for topic in odradek_topics(2):
        assert re.fullmatch("[a-zA-Z0-9._-]{1,249}", topic)
"""


def test_t310_each_test_has_what_no_other_has(pytester: pytest.Pytester) -> None:
    result = run_inside(pytester, FIXTURES)
    result.assert_outcomes(passed=8)


LOOPS = """
import asyncio
import pytest
import trio

pids = set()

def test_without_a_loop(odradek, odradek_topic):
    pids.add(odradek.pid)

@pytest.mark.asyncio
async def test_pytest_asyncio(odradek, odradek_topic):
    assert asyncio.get_running_loop()
    topic = await odradek.aio.topic("of-asyncio")
    await odradek.aio.ask("topics.delete", topics=[topic])
    pids.add(odradek.pid)

@pytest.mark.anyio
async def test_anyio(odradek, odradek_topic, anyio_backend):
    await odradek.aio.ask("topics.delete", topics=[odradek_topic])
    pids.add(odradek.pid)

@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

def test_all_had_one_broker(odradek):
    assert pids == {odradek.pid}
"""


def test_t307_one_broker_for_all_kinds_of_tests(pytester: pytest.Pytester) -> None:
    run_inside(pytester, LOOPS).assert_outcomes(passed=5)


EXTERNAL = """
from odradek.testing import TestCase, factories

class Test(TestCase):
    def test_records(self):
        self.odradek.ask("records.read", topic=self.odradek_topic())

def test_records(odradek, odradek_topic):
    odradek.ask("records.append", topic=odradek_topic, records=[{"value": "x"}])
    [record] = odradek.ask("records.read", topic=odradek_topic)
    assert record["value"] == "x"

def test_faults(odradek, odradek_topic):
    odradek.ask("faults.arm", match={"topic": odradek_topic})

def test_own(odradek_own):
    pass

def test_kill(odradek):
    odradek.kill()

mine = factories.broker(scope="module")

def test_factory(mine):
    pass
"""


def test_t309_on_another_kafka_what_it_cannot_do_is_skipped(
    pytester: pytest.Pytester,
) -> None:
    with Broker() as there:
        option = f"--odradek-bootstrap={there.bootstrap}"
        result = run_inside(pytester, EXTERNAL, option, "-rs")
        names = there.log()
    result.assert_outcomes(passed=2, skipped=4)
    result.stdout.fnmatch_lines_random(
        [
            f"*{there.bootstrap}*it cannot be asked for faults.arm",
            "*it needs a broker of its own*",
            "*it cannot be killed",
        ]
    )
    # Another run on the same Kafka has other names.
    assert "topic test_records-main-1 " not in names
