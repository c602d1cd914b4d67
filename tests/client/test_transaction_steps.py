"""The steps of a transaction, in both protocols, as processes share them out."""

import pytest

from odradek.client.batch_builder import ProducerIdentity
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.producer import DeliveryFailed, Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transaction_steps import (
    CommittedNote,
    TransactionName,
    add_partitions,
    commit_offsets_in_transaction,
    end_transaction,
    init_producer_id,
    transaction_name,
)
from odradek.protocol.errors import (
    InvalidProducerEpoch,
    InvalidTransactionTimeout,
    KafkaError,
    ProducerFenced,
)
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import settle, wait_until
from tests.client.test_producer import records_in

FENCED = (InvalidProducerEpoch, ProducerFenced)


@pytest.fixture(params=[True, False], ids=["implicit", "explicit"])
def is_implicit(request: pytest.FixtureRequest) -> bool:
    is_implicit: bool = request.param
    return is_implicit


def name_of(topic: str, is_implicit: bool) -> TransactionName:
    return TransactionName(f"tx-{topic}", is_implicit)


def write(
    cluster: Cluster, topic: str, name: TransactionName, identity: ProducerIdentity
) -> None:
    with Producer(cluster, transaction=name, identity=identity) as producer:
        for number in range(3):
            producer.send(topic, NewRecord(None, b"%d" % number, 0), number)


def values(cluster: Cluster, topic: str) -> list[bytes | None]:
    found: list[bytes | None] = []
    for number in range(3):
        found += [record.value for record in records_in(cluster, topic, number)]
    return found


def test_the_protocol_is_the_one_that_is_agreed_on(cluster: Cluster) -> None:
    assert transaction_name(cluster, "x") == ("x", True)


def test_records_and_offsets_appear_with_the_commit(
    cluster: Cluster, is_implicit: bool
) -> None:
    topic = f"steps-{is_implicit}"
    place = TopicPartition(topic, 0)
    create_topic(cluster, NewTopic(topic, 3))
    name = name_of(topic, is_implicit)
    identity = init_producer_id(cluster, name)
    write(cluster, topic, name, identity)
    note = {place: CommittedNote(7, "a note")}
    commit_offsets_in_transaction(cluster, name, identity, f"g-{is_implicit}", note)
    assert values(cluster, topic) == []
    after = end_transaction(cluster, name, identity, commit=True)
    assert (after != identity) == is_implicit
    settle(cluster, topic)
    assert values(cluster, topic) == [b"0", b"1", b"2"]
    group = committed_offsets
    wait_until(lambda: place in group(cluster, f"g-{is_implicit}"))
    assert group(cluster, f"g-{is_implicit}")[place][::2] == (7, "a note")
    following = init_producer_id(cluster, name, known=after)
    write(cluster, topic, name, following)  # its sequences begin with 0 again
    commit_offsets_in_transaction(
        cluster, name, following, f"g-{is_implicit}", {place: CommittedNote(9)}
    )
    end_transaction(cluster, name, following, commit=False)
    settle(cluster, topic)
    assert values(cluster, topic) == [b"0", b"1", b"2"]
    assert committed_offsets(cluster, f"g-{is_implicit}")[place].offset == 7


def test_the_next_epoch_aborts_and_shuts_out(
    cluster: Cluster, is_implicit: bool
) -> None:
    topic = f"epochs-{is_implicit}"
    create_topic(cluster, NewTopic(topic, 3))
    name = name_of(topic, is_implicit)
    first = init_producer_id(cluster, name)
    late = Producer(cluster, transaction=name, identity=first)
    late.send(topic, NewRecord(None, b"early", 0), 0)
    late.flush()
    second = init_producer_id(cluster, name, known=first)
    assert second > first
    for number in 0, 1:  # where it has written, and where not
        late.send(topic, NewRecord(None, b"late", 0), number)
        with pytest.raises(DeliveryFailed) as failed:
            late.flush()
        assert isinstance(failed.value.error, FENCED)
    late.close()
    with pytest.raises(FENCED):
        end_transaction(cluster, name, first, commit=True)
    write(cluster, topic, name, second)
    end_transaction(cluster, name, second, commit=True)
    settle(cluster, topic)
    assert values(cluster, topic) == [b"0", b"1", b"2"]


def test_another_owner_is_noticed(cluster: Cluster, is_implicit: bool) -> None:
    name = name_of(f"owners-{is_implicit}", is_implicit)
    mine = init_producer_id(cluster, name)
    init_producer_id(cluster, name)
    with pytest.raises(FENCED):
        init_producer_id(cluster, name, known=mine)


def test_what_is_refused_is_told(cluster: Cluster) -> None:
    name = TransactionName("refused", False)
    with pytest.raises(InvalidTransactionTimeout):
        init_producer_id(cluster, name, timeout_ms=10**9)
    identity = init_producer_id(cluster, name)
    create_topic(cluster, NewTopic("refused", 1))
    stranger = ProducerIdentity(identity.producer_id + 1000, 0)
    with pytest.raises(KafkaError):
        add_partitions(cluster, name, stranger, [TopicPartition("refused", 0)])
    assert init_producer_id(cluster).producer_id >= 0  # without a name
