"""Waits of a test, with real clients. T351 of the test kit is here."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, ShareConsumer

from odradek.client.connection import Connection
from odradek.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.testing import Broker, Refused, Topic, WaitTimeout
from tests.client.live import connected_to
from tests.client.share_groups import begin_with_the_first
from tests.patience import PATIENCE_S

# Of the 500 that the case has some are in every run.
ROUNDS, ROUNDS_LONG = 8, 500


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


@contextmanager
def reading(
    topic: Topic, group: str, **options: object
) -> Iterator[list[tuple[int, int]]]:
    """A consumer in a thread; gives the places of what it has read."""
    config = {
        **topic.broker.config("confluent"),
        "group.id": group,
        "enable.auto.commit": False,
        **options,
    }
    consumer = Consumer(config)
    consumer.subscribe([topic])
    seen: list[tuple[int, int]] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                seen.append((message.partition() or 0, message.offset() or 0))
                consumer.commit(message, asynchronous=False)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()
        consumer.close()


@pytest.mark.parametrize(
    "rounds", [ROUNDS, pytest.param(ROUNDS_LONG, marks=pytest.mark.long)]
)
def test_t351_a_reader_at_the_end_misses_nothing(broker: Broker, rounds: int) -> None:
    """T351: what is written after the wait is read, though it began at "latest"."""
    for number in range(rounds):
        topic = broker.topic(f"t351-{rounds}-{number}", 2)
        topic.produce(["before", "before"])
        with reading(topic, topic, **{"auto.offset.reset": "latest"}) as seen:
            broker.wait.assigned(topic, timeout=PATIENCE_S)
            places = topic.produce(["a", "b", "c"])
            broker.wait.lag(topic, timeout=PATIENCE_S)
            assert sorted(seen) == sorted(places)
        topic.delete()


def test_two_groups_of_clients_with_one_name(broker: Broker) -> None:
    topic = broker.topic("two-groups")
    options = {"auto.offset.reset": "latest"}
    with (
        reading(topic, "one", **options) as first,
        reading(topic, "two", **options) as second,
    ):
        for group in ("one", "two"):
            broker.wait.assigned(group, timeout=PATIENCE_S)
        topic.produce(["x"])
        for group in ("one", "two"):
            broker.wait.committed(group, topic, 1, timeout=PATIENCE_S)
        assert first == second == [(0, 0)]


def test_a_group_comes_and_goes(broker: Broker) -> None:
    topic = broker.topic("comes-and-goes")
    with reading(topic, "comes"):
        broker.wait.assigned("comes", 1, timeout=PATIENCE_S)
        with pytest.raises(WaitTimeout, match="comes has 1 of 2 members"):
            broker.wait.assigned("comes", 2, timeout=0.01)
        assert broker.state().groups["comes"]["state"] == "Stable"
    broker.wait.assigned("comes", 0, timeout=PATIENCE_S)


def test_a_transaction_on_its_way(broker: Broker) -> None:
    topic = broker.topic("transaction")
    producer = Producer({**broker.config("confluent"), "transactional.id": "x"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"v")
    producer.flush()
    broker.wait.transaction("x", "Ongoing", timeout=PATIENCE_S)
    with pytest.raises(WaitTimeout, match="1 behind an open transaction"):
        topic.records(1, timeout=0.01)
    assert [each.what for each in topic.records(open=True)] == ["open"]
    producer.commit_transaction()
    broker.wait.transaction("x", "CompleteCommit", timeout=PATIENCE_S)
    assert len(topic.records(1, timeout=PATIENCE_S)) == 1
    assert [each.what for each in topic.records(control=True)] == ["", "commit"]


def test_a_restart_loses_nothing_that_waits_look_at() -> None:
    with Broker() as broker:
        topic = broker.topic("t")
        topic.produce(["a", "b"])
        with reading(topic, "g", **{"auto.offset.reset": "earliest"}):
            broker.wait.committed("g", topic, 2, timeout=PATIENCE_S)
        broker.kill()
        broker.start()
        broker.wait.records(topic, 2, timeout=PATIENCE_S)
        broker.wait.committed("g", topic, 2, timeout=PATIENCE_S)
        broker.wait.lag("g", timeout=PATIENCE_S)


def test_clients_that_are_gone_are_waited_for() -> None:
    with Broker() as broker:
        host, port = broker.bootstrap.split(":")
        with Connection(host, int(port), timeout_s=PATIENCE_S) as client:
            client.request(ApiVersionsRequest(), ApiVersionsResponse, 0)
            with pytest.raises(WaitTimeout, match="1 connection: 127"):
                broker.wait.connections(timeout=0.01)
        broker.wait.connections(timeout=PATIENCE_S)


def test_reset_ends_what_there_was() -> None:
    with Broker() as broker:
        topic = broker.topic("t")
        topic.produce(["a"])
        with reading(topic, "g", **{"auto.offset.reset": "earliest"}):
            broker.wait.lag("g", timeout=PATIENCE_S)
        broker.reset()
        state = broker.state()
        assert (state.partitions, state.groups, state.transactions) == ({}, {}, {})
        again = broker.topic("t")
        assert again.records() == []
        with reading(again, "g", **{"auto.offset.reset": "latest"}) as seen:
            broker.wait.assigned("g", timeout=PATIENCE_S)
            again.produce(["b"])
            broker.wait.lag("g", timeout=PATIENCE_S)
            assert seen == [(0, 0)]


def test_what_cannot_be_waited_for_is_refused(broker: Broker) -> None:
    with pytest.raises(Refused, match="did you mean records") as caught:
        broker.wait.until("recods")
    assert not isinstance(caught.value, WaitTimeout)
    with pytest.raises(Refused, match="did you mean Ongoing"):
        broker.wait.transaction("x", "Onging")


def test_members_of_a_share_group_have_records(broker: Broker) -> None:
    topic = broker.topic("jobs")
    topic.produce(["a", "b"])
    with connected_to(broker) as cluster:
        begin_with_the_first(cluster, "job-workers")
    with pytest.raises(WaitTimeout, match="have 0 records of 2"):
        broker.wait.acquired("job-workers", 2, timeout=0.01)
    config = {
        **broker.config("confluent"),
        "group.id": "job-workers",
        "share.acknowledgement.mode": "explicit",
    }
    with ShareConsumer(config) as consumer:
        consumer.subscribe([topic])
        found: list[Any] = []
        while len(found) < 2:
            found += consumer.poll(0.1)
        broker.wait.acquired("job-workers", 2, timeout=PATIENCE_S)
        for message in found:
            consumer.acknowledge(message)
        consumer.commit_sync()
        broker.wait.acquired("job-workers", 0, timeout=PATIENCE_S)
