import socket

import pytest

from odradek.client.cluster import Cluster
from odradek.client.connection import ConnectionClosed
from odradek.client.errors import TlsCause, TlsFailed, TopicReplaced, Unreachable
from odradek.pipeline.errors import SourceAway, SourceError, TopicRecreated
from odradek.pipeline.source.log_view import BrokerView, connected, in_plain_words
from odradek.pipeline.source.options import read_options
from odradek.protocol.errors import (
    MalformedRequest,
    NotLeaderOrFollower,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
)
from odradek.protocol.messages.log_dirs import DescribeLogDirsRequest
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.fakes.scripted import scripted_cluster
from tests.pipeline import feeding


def test_topics_and_offsets_of_a_broker(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    feeding.create(broker_process.address, topic, 2)
    feeding.send(broker_process.address, topic, [b"a", b"b"], 1)
    view = BrokerView(cluster, committed=False)
    (found,) = view.topics([topic]).values()
    assert list(found.partitions) == [0, 1]
    assert found.topic_id == cluster.metadata([topic]).topics[topic].topic_id
    assert topic in view.topics(None)
    empty, full = (TopicPartition(topic, number) for number in range(2))
    assert view.starts([empty, full]) == {empty: 0, full: 0}
    ends = view.ends([empty, full])
    assert (ends[empty].offset, ends[full].offset) == (0, 2)
    assert ends[full].leader_epoch >= 0
    times = {empty: feeding.TIME_MS, full: feeding.TIME_MS + 1}
    assert view.offsets_since(times) == {empty: None, full: 1}


def test_the_end_of_what_is_committed_is_before_an_open_transaction(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    address = broker_process.address
    feeding.feed_transactions(address, topic)
    place = TopicPartition(topic, 0)
    with feeding.open_transaction(address, topic, [b"x"]):
        everything = BrokerView(cluster, committed=False).ends([place])[place]
        committed = BrokerView(cluster, committed=True).ends([place])[place]
        assert everything.offset == committed.offset + 1


def test_a_topic_that_is_not_there(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    feeding.create(broker_process.address, f"{topic}-orders")
    view = BrokerView(cluster, committed=False)
    with pytest.raises(SourceError, match=rf"Did you mean {topic}-orders\?"):
        view.topics([f"{topic}-order"])
    with pytest.raises(SourceError, match="order-0: "):
        view.ends([TopicPartition(f"{topic}-order", 0)])


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    servers = {"kafka.bootstrap.servers": f"127.0.0.1:{port}", "subscribe": "t"}
    with (
        pytest.raises(SourceAway, match=r"does not answer.*kafka\.bootstrap\.servers"),
        connected(read_options(servers)) as cluster,
    ):
        cluster.metadata()


def test_what_clients_raise_is_told_with_what_to_do() -> None:
    with pytest.raises(TopicRecreated, match="checkpointLocation"), in_plain_words():
        raise TopicReplaced("Topic t was deleted.")
    with pytest.raises(SourceError, match="not allowed"), in_plain_words():
        raise TopicAuthorizationFailed("You are not allowed to read t.")
    with pytest.raises(ZeroDivisionError), in_plain_words():
        raise ZeroDivisionError


def test_who_hangs_up_may_want_something_else() -> None:
    reason = r"Is its listener one for PLAINTEXT \(kafka\.security\.protocol\)\?"
    for error in (Unreachable("a:1: reset by peer"), ConnectionClosed("it closed it")):
        with pytest.raises(SourceAway, match=reason), in_plain_words():
            raise error


@pytest.mark.parametrize(
    ("error", "is_away"),
    [
        (Unreachable("x"), True),
        (ConnectionResetError("x"), True),
        (NotLeaderOrFollower("x"), True),
        (TopicAuthorizationFailed("x"), False),
        (SaslAuthenticationFailed("x"), False),
        (TlsFailed("x", cause=TlsCause.HUNG_UP), True),
        (TlsFailed("x: its certificate has expired", 10), False),
        (MalformedRequest("x"), False),
    ],
)
def test_who_is_away_is_told_from_who_refuses(error: Exception, is_away: bool) -> None:
    with pytest.raises(SourceError, match="x") as raised, in_plain_words():
        raise error
    assert isinstance(raised.value, SourceAway) == is_away


def test_how_much_an_offset_is(
    broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    feeding.create(broker_process.address, topic, 2)
    feeding.send(broker_process.address, topic, [b"x" * 10_000] * 20)
    view = BrokerView(cluster, committed=False)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    found = view.bytes_per_offset(places)
    assert set(found) == {places[0]}
    assert 10_000 < found[places[0]] < 11_000
    assert view.bytes_per_offset([]) == {}


def test_a_broker_that_does_not_say_how_much() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        script.script(DescribeLogDirsRequest, lambda *_: None)
        view = BrokerView(cluster, committed=False)
        assert view.bytes_per_offset([TopicPartition("t", 0)]) == {}
