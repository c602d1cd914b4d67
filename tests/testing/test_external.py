"""A Kafka that is there already, asked by commands. Here it is a second odradek."""

from collections.abc import Iterator
from unittest import SkipTest

import pytest

from odradek.testing import Broker, BrokerError, ExternalBroker, Refused


@pytest.fixture(scope="module")
def external() -> Iterator[ExternalBroker]:
    with Broker() as there, ExternalBroker(there.bootstrap) as external:
        yield external


def test_t309_topics_are_made_and_deleted(external: ExternalBroker) -> None:
    assert repr(external) == f"<ExternalBroker at {external.bootstrap}>"
    topic = external.topic("made", 3, {"retention.ms": 5000})
    assert topic.partitions == 3
    with pytest.raises(Refused) as refused:
        external.topic("made")
    assert refused.value.word == "TOPIC_ALREADY_EXISTS"
    topic.delete()
    with pytest.raises(BrokerError):
        topic.delete()


def test_t309_records_are_written_and_read(external: ExternalBroker) -> None:
    topic = external.topic("records", 2)
    records = [{"value": str(number), "partition": 1} for number in range(5)]
    written = external.ask("records.append", topic=topic, records=records)
    assert written == [{"partition": 1, "offset": offset} for offset in range(5)]
    external.ask("wait", until="records", topic=topic, partition=1, count=5)
    external.ask("records.append", topic=topic, records=[{"value": "x"}], partition=0)
    found = external.ask("records.read", topic=topic)
    assert sorted(record["value"] for record in found) == ["0", "1", "2", "3", "4", "x"]
    last = external.ask("records.read", topic=topic, partition=1, last=2)
    assert [record["value"] for record in last] == ["3", "4"]
    some = external.ask(
        "records.read", topic=topic, partition=1, **{"from": 1, "to": 3}
    )
    assert [record["value"] for record in some] == ["1", "2"]
    topic.delete()


def test_t309_records_that_do_not_come_are_waited_for_no_longer(
    external: ExternalBroker,
) -> None:
    topic = external.topic("empty")
    with pytest.raises(
        Refused, match="empty has fewer than 1 records after 1 ms"
    ) as no:
        external.ask("wait", until="records", topic=topic, count=1, timeout_ms=1)
    assert no.value.word == "timeout"


@pytest.mark.parametrize(
    ("request_name", "fields"),
    [
        ("clock.advance", {"ms": 1}),
        ("records.read", {"topic": "t", "control": True}),
        ("wait", {"until": "lag", "group": "g"}),
    ],
)
def test_t309_what_it_cannot_do_skips_with_the_reason(
    external: ExternalBroker, request_name: str, fields: dict[str, object]
) -> None:
    with pytest.raises(SkipTest, match=rf"{external.bootstrap} .* {request_name}"):
        external.ask(request_name, **fields)


def test_t309_it_is_not_ours_to_end(external: ExternalBroker) -> None:
    for touch in (external.kill, external.stop):
        with pytest.raises(SkipTest):
            touch()
    external.close()
    assert external.pid is None
    assert external.log() == ""
    assert external.start() is external


def test_one_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.testing.external.START_TIMEOUT", "1ms")
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:1"):
        ExternalBroker("127.0.0.1:1").start()


def test_where_nothing_answers_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.testing.external.START_TIMEOUT", "1ms")
    with pytest.raises(BrokerError) as no, ExternalBroker("127.0.0.1:1"):
        pass
    said = "no Kafka answers at 127.0.0.1:1 (waited 1ms): 127.0.0.1:1"
    assert str(no.value) == f"{said} is not ready: Connection refused"


@pytest.mark.parametrize("wrong", ["9092", "kafka://localhost:9092", "localhost:99999"])
def test_what_is_no_address_is_not_waited_for(wrong: str) -> None:
    with pytest.raises(BrokerError, match=r"^where Kafka is: '.+ (no|not) "):
        ExternalBroker(wrong).start()
