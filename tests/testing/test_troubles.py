"""A broker that dies, stands still or loses its clients: they get over it."""

import contextlib
import select
import socket
from collections.abc import Iterator

import confluent_kafka
import pytest

from odradek.client.connection import Connection
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.testing import Broker, BrokerError, Refused
from tests.patience import PATIENCE_S

# Version 0, correlation id 7, no client id.
API_VERSIONS = b"\0\0\0\x0a\0\x12\0\0\0\0\0\x07\xff\xff"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def connect(broker: Broker, client_id: str = "test") -> Connection:
    host, port = broker.bootstrap.split(":")
    return Connection(host, int(port), client_id=client_id, timeout_s=PATIENCE_S)


def ask(connection: Connection) -> None:
    connection.request(MetadataRequest(topics=[]), MetadataResponse)


def is_open(connection: Connection) -> bool:
    with contextlib.suppress(ConnectionError):
        ask(connection)
        return True
    return False


def test_who_asks_a_frozen_broker_is_answered_when_it_thaws(broker: Broker) -> None:
    with connect(broker) as open_before, socket.socket() as late:
        with broker.freeze():
            request = MetadataRequest(topics=[])
            version = open_before.version_of(request)
            correlation_id = open_before.send(request, version)
            host, port = broker.bootstrap.split(":")
            late.connect((host, int(port)))
            late.sendall(API_VERSIONS)
            for _ in range(5):  # the loop has turned
                broker.clock.now()
            assert not select.select([open_before._socket, late], [], [], 0)[0]
        answer = open_before.receive_answer(correlation_id, MetadataResponse, version)
        assert answer.brokers
        late.settimeout(PATIENCE_S)
        assert late.recv(8)[4:] == API_VERSIONS[8:12]


def test_nothing_is_due_in_a_frozen_broker(broker: Broker) -> None:
    with broker.freeze(), pytest.raises(Refused, match="thaw it first"):
        broker.clock.advance(1)
    broker.clock.advance(1)


def test_a_frozen_broker_can_be_stopped(broker: Broker) -> None:
    broker.freeze()
    broker.clock.freeze()
    broker.stop()
    broker.start()
    with connect(broker) as connection:
        ask(connection)


def test_a_producer_gets_over_a_freeze(broker: Broker) -> None:
    topic = broker.topic("written")
    producer = confluent_kafka.Producer(broker.config("confluent"))
    producer.produce(topic, b"before")
    assert producer.flush(PATIENCE_S) == 0
    with broker.freeze():
        producer.produce(topic, b"after")
        assert producer.flush(0.1) == 1
    assert producer.flush(PATIENCE_S) == 0


def test_clients_are_disconnected_by_their_names(broker: Broker) -> None:
    with connect(broker, "shop-1") as shop, connect(broker, "bank-1") as bank:
        assert broker.disconnect("shop-?") == 1
        assert [is_open(shop), is_open(bank)] == [False, True]
        assert broker.disconnect("nobody") == 0
        assert broker.disconnect() == 1
        assert not is_open(bank)


def test_a_client_that_was_disconnected_comes_back(broker: Broker) -> None:
    topic = broker.topic("written")
    producer = confluent_kafka.Producer(broker.config("confluent"))
    for _ in range(3):
        producer.produce(topic, b"x")
        assert producer.flush(PATIENCE_S) == 0
        assert broker.disconnect("rdkafka") >= 1


def test_nobody_connects_to_a_broker_that_refuses(broker: Broker) -> None:
    with connect(broker) as open_before:
        with broker.refuse():
            with pytest.raises(ConnectionError):
                connect(broker)
            assert is_open(open_before)
        connect(broker).close()


def test_a_broker_that_crashes_can_be_started_again(broker: Broker) -> None:
    broker.topic("kept")
    with pytest.raises(BrokerError, match="the broker ended"):
        broker.ask("process.crash")
    broker.kill()  # reaps it
    broker.start()
    with connect(broker) as connection:
        answer = connection.request(MetadataRequest(topics=None), MetadataResponse)
        assert [each.name for each in answer.topics] == ["kept"]
