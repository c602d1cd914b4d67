"""Transactions of stock producers: what readers see of them, and who may go on."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator

import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import (
    CLIENTS,
    COMMITTED,
    QUICKLY,
    UNCOMMITTED,
    Client,
    Confluent,
    Message,
    by_name,
)
from tests.clients.consumers import CONSUMERS, Place, Rebalances, Settings
from tests.clients.members import Member, has_read, until
from tests.clients.producers import PRODUCERS, Failed, Fenced, Identity, Producer
from tests.clients.questions import Ends, committed, ends
from tests.patience import PATIENCE_S

# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]
TRANSACTIONS = 1000 if os.environ.get("ODRADEK_LONG") else 200
each_client = pytest.mark.parametrize("client", CLIENTS, ids=by_name)
on_one_loop = pytest.mark.parametrize("broker", ["uvloop"], indirect=True)


@contextlib.contextmanager
def producing(
    broker: BrokerProcess, client: Client, name: str, timeout_ms: int = 60_000
) -> Iterator[Producer]:
    """A producer with a transactional id of that name."""
    producer = PRODUCERS[client.name](broker.address, Identity(name, timeout_ms))
    try:
        yield producer
    finally:
        producer.close()


def values_of(
    client: Client, broker: BrokerProcess, place: Place, count: int, isolation: str
) -> list[bytes | None]:
    reads = client.consume(broker.address, *place, count, isolation)
    return [read.message.value for read in reads]


def produce_plainly(broker: BrokerProcess, place: Place, *values: bytes) -> None:
    messages = [Message(None, value, partition=place.partition) for value in values]
    Confluent().produce(broker.address, place.topic, messages, QUICKLY)


@each_client
def test_what_is_committed_is_read(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    """Of every partition; uncommitted readers have what was aborted, too."""
    Confluent().create_topic(broker.address, topic, 3)
    places = [Place(topic, number) for number in range(3)]
    kept: list[bytes] = []
    everything: list[bytes] = []
    with producing(broker, client, topic) as producer:
        ends_of_transactions = [producer.commit, producer.abort]
        for number in range(5):
            producer.begin()
            values = b"%d" % number, b"%d, too" % number
            for place in places:
                producer.send(place, *values)
            producer.flush()
            ends_of_transactions[number % 2]()
            everything += values
            kept += values if number % 2 == 0 else ()
    for place in places:
        assert values_of(client, broker, place, 6, COMMITTED) == kept
        assert values_of(client, broker, place, 10, UNCOMMITTED) == everything
        # Two records and a marker for each of the transactions.
        assert ends(broker, *place) == Ends(15, 15)
    for reader in CLIENTS:
        reads = reader.consume(broker.address, topic, 0, 6, COMMITTED)
        found = [(read.offset, read.message.value) for read in reads]
        assert found == list(zip([0, 1, 6, 7, 12, 13], kept, strict=True)), reader.name


@each_client
def test_a_committed_reader_waits_at_an_open_transaction(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    Confluent().create_topic(broker.address, topic, 2)
    place, elsewhere = Place(topic, 0), Place(topic, 1)
    settings = Settings("g-" + topic, (topic,), is_committed_only=True)
    with producing(broker, client, topic) as producer:
        producer.begin()
        producer.send(place, b"1", b"2")
        producer.flush()
        produce_plainly(broker, place, b"behind")
        produce_plainly(broker, elsewhere, b"elsewhere")
        found = values_of(client, broker, place, 3, UNCOMMITTED)
        assert found == [b"1", b"2", b"behind"]
        with Member(client.name, broker.address, settings) as reader:
            until(lambda: reader.found, "read", reader)
            assert reader.values() == [b"elsewhere"]
            assert ends(broker, topic) == Ends(0, 3)
            producer.commit()
            until(lambda: has_read([reader], [b"behind"]), "read on", reader)
            producer.begin()
            producer.send(place, b"3")
            producer.flush()
            produce_plainly(broker, place, b"last")
            until(lambda: ends(broker, topic) == Ends(4, 6), "undecided")
            producer.abort()
            until(lambda: has_read([reader], [b"last"]), "read to the end", reader)
            assert reader.values() == [b"elsewhere", b"1", b"2", b"behind", b"last"]
    assert ends(broker, topic) == Ends(7, 7)


@on_one_loop
@each_client
def test_offsets_are_committed_with_what_was_made_of_them(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    """Every third transaction is aborted, and done again from where it began."""
    source, target = topic[-190:] + "-source", Place(topic[-190:] + "-target", 0)
    Confluent().create_topic(broker.address, source, 2)
    Confluent().create_topic(broker.address, target.topic, 1)
    numbers = range(200)
    messages = [Message(None, b"%d" % each, partition=each % 2) for each in numbers]
    Confluent().produce(broker.address, source, messages, QUICKLY)
    group = "g-" + topic
    settings = Settings(group, (source,), is_committed_only=True)
    consumer = CONSUMERS[client.name](broker.address, settings, Rebalances())
    with contextlib.closing(consumer), producing(broker, client, topic) as producer:
        done: dict[int, int] = {}
        for turn in itertools.count():
            polled = consumer.poll(0.2)
            found = polled[:30]
            nexts = {each.place: each.offset + 1 for each in found}
            if not found:
                continue
            producer.begin()
            producer.send(target, *(each.value for each in found))
            producer.send_offsets(consumer.group_metadata(), nexts)
            if turn % 3 == 1:
                producer.abort()
                nexts.clear()
            else:
                producer.commit()
                done |= {place.partition: end for place, end in nexts.items()}
            # The answer to the end of a transaction does not wait for its markers.
            until(lambda: committed(broker, group, source) == done, "committed")  # noqa: B023
            if done == {0: 100, 1: 100}:
                break
            begins = {each.place: each.offset for each in reversed(polled)}
            for place, offset in (begins | nexts).items():
                consumer.seek(place, offset)
    found = values_of(client, broker, target, len(numbers), COMMITTED)
    assert sorted(found) == sorted(b"%d" % each for each in numbers)
    assert ends(broker, *target)[0] > len(numbers)


@on_one_loop
@each_client
@pytest.mark.parametrize("attempt", ["flush", "commit", "abort"])
def test_a_second_producer_fences_the_first(
    broker: BrokerProcess, topic: str, client: Client, attempt: str
) -> None:
    """What the first had open is aborted, and it ends nothing of the second."""
    if (attempt, client.name) == ("flush", "kafka-python"):
        pytest.skip("it initialises itself anew then, and fences the second")
    Confluent().create_topic(broker.address, topic, 1)
    place = Place(topic, 0)
    with producing(broker, client, topic) as first:
        first.begin()
        first.send(place, b"of the first")
        first.flush()
        with producing(broker, client, topic) as second:
            assert ends(broker, *place) == Ends(2, 2)
            second.begin()
            second.send(place, b"of the second")
            second.flush()
            if attempt == "flush":
                first.send(place, b"too late")
            with pytest.raises((Fenced, Failed)):
                getattr(first, attempt)()
            assert ends(broker, *place) == Ends(2, 3)
            second.commit()
    assert values_of(client, broker, place, 1, COMMITTED) == [b"of the second"]
    assert ends(broker, *place) == Ends(4, 4)


@on_one_loop
@each_client
def test_a_refused_record_spoils_its_transaction(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    """It is aborted, and the next producer goes on."""
    create_narrow_topic(broker, topic)
    place = Place(topic, 0)
    with producing(broker, client, topic) as producer:
        spoil(producer, place)
        producer.abort()
    with producing(broker, client, topic) as producer:
        producer.begin()
        producer.send(place, b"good")
        producer.commit()
    assert values_of(client, broker, place, 1, COMMITTED) == [b"good"]


@on_one_loop
def test_librdkafka_goes_on_behind_a_refused_record(
    broker: BrokerProcess, topic: str
) -> None:
    """The same producer: a sequence number is missing, so it takes a new epoch."""
    create_narrow_topic(broker, topic)
    place = Place(topic, 0)
    client = Confluent()
    with producing(broker, client, topic) as producer:
        spoil(producer, place)
        producer.abort()
        producer.begin()
        producer.send(place, b"out of sequence")
        with pytest.raises(Failed):
            producer.commit()
        producer.abort()
        for value in (b"good", b"still good"):
            producer.begin()
            producer.send(place, value)
            producer.commit()
    found = values_of(client, broker, place, 2, COMMITTED)
    assert found == [b"good", b"still good"]


def create_narrow_topic(broker: BrokerProcess, topic: str) -> None:
    """One that refuses large records."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    config = {"max.message.bytes": "1000"}
    wanted = confluent_kafka.admin.NewTopic(topic, 1, 1, config=config)
    admin.create_topics([wanted])[topic].result(PATIENCE_S)


def spoil(producer: Producer, place: Place) -> None:
    """Begin a transaction that has a record which is refused."""
    producer.begin()
    producer.send(place, b"good, but in bad company")
    producer.flush()
    producer.send(place, b"too large" * 1000)
    with pytest.raises(Failed):
        producer.flush()


@on_one_loop
@pytest.mark.parametrize("name", ["confluent-kafka", "kafka-python"])
def test_a_member_that_is_gone_commits_no_offsets(
    broker: BrokerProcess, topic: str, name: str
) -> None:
    """The producer aborts, and goes on. aiokafka does not say which member asks."""
    (client,) = (each for each in CLIENTS if each.name == name)
    Confluent().create_topic(broker.address, topic, 1)
    place = Place(topic, 0)
    settings = Settings("g-" + topic, (topic,), session_ms=500)
    consumer = CONSUMERS[name](broker.address, settings, Rebalances())
    with producing(broker, client, topic) as producer:
        with contextlib.closing(consumer):
            until(lambda: consumer.poll(0.05) or consumer.assignment(), "a member")
            metadata = consumer.group_metadata()
        producer.begin()
        producer.send(place, b"of nobody")
        with pytest.raises(Failed):
            producer.send_offsets(metadata, {place: 1})
        producer.abort()
        assert committed(broker, settings.group, topic) == {}
        producer.begin()
        producer.send(place, b"good")
        producer.commit()
    assert values_of(client, broker, place, 1, COMMITTED) == [b"good"]


@on_one_loop
@each_client
def test_a_transaction_times_out(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    """It is aborted, readers go on, and its producer is fenced."""
    Confluent().create_topic(broker.address, topic, 1)
    place = Place(topic, 0)
    timeout_ms, is_flushed = 1000, False
    with contextlib.ExitStack() as producers:
        while not is_flushed:  # nothing says how long that takes here
            found = producing(broker, client, topic, timeout_ms=timeout_ms)
            producer = producers.enter_context(found)
            begun = time.monotonic()
            with contextlib.suppress(Failed, Fenced):
                producer.begin()
                producer.send(place, b"forgotten")
                producer.flush()
                is_flushed = True
            timeout_ms *= 4
        produce_plainly(broker, place, b"plain")
        assert values_of(client, broker, place, 1, COMMITTED) == [b"plain"]
        assert time.monotonic() - begun > 1
        with pytest.raises(Fenced):
            producer.commit()
    with producing(broker, client, topic) as producer:
        producer.begin()
        producer.send(place, b"kept")
        producer.commit()
    assert values_of(client, broker, place, 2, COMMITTED) == [b"plain", b"kept"]


@on_one_loop
@each_client
def test_many_transactions(broker: BrokerProcess, topic: str, client: Client) -> None:
    Confluent().create_topic(broker.address, topic, 1)
    place = Place(topic, 0)
    kept = []
    with producing(broker, client, topic) as producer:
        for number in range(TRANSACTIONS):
            value = b"%d" % number
            producer.begin()
            producer.send(place, value)
            if number % 10 == 3:
                producer.flush()
                producer.abort()
            else:
                producer.commit()
                kept.append(value)
    assert values_of(client, broker, place, len(kept), COMMITTED) == kept
    assert ends(broker, *place) == Ends(2 * TRANSACTIONS, 2 * TRANSACTIONS)
