"""What a test learns of the calls of its clients: T350."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from odradek.testing import Broker, Refused, Topic
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> Topic:
    return broker.topic("".join(c if c.isalnum() else "-" for c in request.node.name))


def produce(broker: Broker, topic: str) -> None:
    producer = Producer({**broker.config("confluent"), "linger.ms": 0})
    producer.produce(topic, b"v")
    assert producer.flush(PATIENCE_S) == 0


def test_calls_that_were_expected_come(broker: Broker, topic: Topic) -> None:
    with broker.expect("Produce", topic=topic, error="NONE", times=2) as expected:
        produce(broker, topic)
        produce(broker, topic)
    assert [call.api for call in expected.calls] == ["Produce"] * 2
    assert "Produce v" in str(expected.calls[0])


def test_calls_may_come_when_the_test_is_through(broker: Broker, topic: Topic) -> None:
    late = threading.Timer(0.05, produce, (broker, topic))
    with broker.expect("Produce", topic=topic):
        late.start()
    late.join()


def test_in_a_sequence_others_may_come_between(broker: Broker, topic: Topic) -> None:
    expected = broker.expect("ApiVersions").then("Metadata").then("Produce", 1)
    with expected:
        produce(broker, topic)
    assert [c.api for c in expected.calls] == ["ApiVersions", "Metadata", "Produce"]


def test_of_a_sequence_one_is_missing(broker: Broker, topic: Topic) -> None:
    """T350: it fails, and shows what came."""
    expected = broker.expect("Metadata", timeout=0.1).then("EndTxn").then("Produce")
    with pytest.raises(AssertionError) as failed, expected:
        produce(broker, topic)
    lines = str(failed.value).splitlines()
    assert lines[0] == "expected EndTxn 1 times; 0 came; the calls meanwhile:"
    assert any("Produce v" in line and "NONE" in line for line in lines)


def test_one_too_many_came(broker: Broker, topic: Topic) -> None:
    for times in (1, 0):
        expected = broker.expect("Produce", topic=topic, times=times)
        failed = pytest.raises(AssertionError, match=f"{times} times; {times + 1} came")
        with failed, expected:
            for _ in range(times + 1):
                produce(broker, topic)
    with broker.expect("Produce", topic=topic, times=0):
        pass


def test_an_error_of_the_test_itself_is_not_hidden(broker: Broker) -> None:
    with pytest.raises(ZeroDivisionError), broker.expect("Produce"):
        raise ZeroDivisionError
    with pytest.raises(Refused, match="did you mean Produce"), broker.expect("Produc"):
        pass


def test_calls_are_there_as_long_as_the_journal_is_on(
    broker: Broker, topic: Topic
) -> None:
    with broker.journal() as journal:
        produce(broker, topic)
        [call] = journal.calls("Produce", topic=topic, records=True, count=1)
        assert call.codes == ["NONE"]
        assert call.request is not None
        data = call.request["topic_data"][0]["partition_data"][0]
        assert [record["value"] for record in data["records"]] == ["v"]
        everything = broker.calls(since=journal.since)
        assert (everything.lost, everything.next > call.number) == (0, True)
        with pytest.raises(TimeoutError, match=r"Produce topic=\S+ 2 times; 1 came"):
            journal.calls("Produce", topic=topic, count=2, timeout=0)


def test_without_a_journal_that_is_said() -> None:
    with Broker() as broker, pytest.raises(Refused, match=r"journal\.begin") as refused:
        broker.calls("Produce")
    assert refused.value.word == "journal-off"
