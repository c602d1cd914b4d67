import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.producer import DeliveryFailed, ProducerSettings
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transaction_steps import CommittedNote
from odradek.client.transactional_producer import TransactionalProducer
from odradek.client.transactions import describe_transaction
from odradek.protocol.errors import InvalidTxnState
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import settle
from tests.client.test_producer import records_in


@pytest.fixture(params=[True, False], ids=["implicit", "explicit"])
def is_implicit(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> bool:
    is_implicit: bool = request.param
    level = 2 if is_implicit else 1
    monkeypatch.setattr(
        Cluster, "features", lambda self: {"transaction.version": level}
    )
    return is_implicit


def test_commits_and_aborts_follow_each_other(
    cluster: Cluster, is_implicit: bool
) -> None:
    topic = f"turns-{is_implicit}"
    place = TopicPartition(topic, 0)
    create_topic(cluster, NewTopic(topic, 1))
    settings = ProducerSettings(batch_size=200, linger_ms=0)
    expected = []
    with TransactionalProducer(cluster, topic, settings) as producer:
        for turn, is_commit in enumerate([True, False, True, True, False, True]):
            producer.begin()
            values = [b"%d-%d" % (turn, number) * 10 for number in range(20)]
            for value in values:
                producer.send(topic, NewRecord(None, value, 0))
            if turn < 4:
                producer.send_offsets("of-" + topic, {place: CommittedNote(turn)})
            if is_commit:
                producer.commit()
                expected += values
            else:
                producer.abort()
    settle(cluster, topic)
    assert [each.value for each in records_in(cluster, topic, 0)] == expected
    assert committed_offsets(cluster, "of-" + topic)[place].offset == 3


def test_an_empty_transaction_costs_nothing(
    cluster: Cluster, is_implicit: bool
) -> None:
    name = f"empty-{is_implicit}"
    with TransactionalProducer(cluster, name) as producer:
        for _ in range(2):
            producer.begin()
            producer.commit()
            producer.begin()
            producer.abort()
    assert describe_transaction(cluster, name).state in ("Empty", "CompleteAbort")


def test_who_had_the_name_is_shut_out(cluster: Cluster, is_implicit: bool) -> None:
    topic = f"names-{is_implicit}"
    create_topic(cluster, NewTopic(topic, 1))
    record = NewRecord(None, b"v", 0)
    with TransactionalProducer(cluster, topic) as first:
        first.begin()
        first.send(topic, record)
        with TransactionalProducer(cluster, topic) as second:
            with pytest.raises(DeliveryFailed):
                first.commit()
            second.begin()
            second.send(topic, record)
            second.commit()
    settle(cluster, topic)
    assert len(list(records_in(cluster, topic, 0))) == 1


def test_only_inside_of_a_transaction(cluster: Cluster) -> None:
    with TransactionalProducer(cluster, "states") as producer:
        for act in producer.commit, producer.abort:
            with pytest.raises(InvalidTxnState, match="begin one"):
                act()
        with pytest.raises(InvalidTxnState):
            producer.send("t", NewRecord(None, b"v", 0))
        producer.begin()
        with pytest.raises(InvalidTxnState, match="open already"):
            producer.begin()
