"""Fetches that a cluster has a say in: of followers, of consumers in racks."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from odradek.broker.cluster.read_replicas import RackAwareReplicas
from odradek.broker.cluster.throttles import make_throttles
from odradek.broker.cluster.view import KnownBroker
from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.usual_fetch import UsualFetch
from odradek.broker.runtime.parked import Parked
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchRequest, PartitionData, ReplicaState
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.records.test_fetch import at, filled, request
from tests.fakes.answers import fetched
from tests.fakes.led_with_another import OTHER, US, LedWithAnother
from tests.fakes.replicas import Replicas, base_offsets, replicas

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
VERSION = 15


class Cluster:
    """Another broker, in rack b."""

    def __init__(self, broker: Replicas) -> None:
        self.throttles = make_throttles(US, broker.topics, broker.clock)
        self.read_replicas: RackAwareReplicas | None = RackAwareReplicas("a")
        broker.services.cluster = self  # type: ignore[assignment]

    def broker(self, broker_id: int, listener_name: str) -> KnownBroker:
        return KnownBroker(broker_id, "other", 9092, "b")

    def placed(self, topic_id: bytes, number: int) -> None:
        return None


def asked(broker: Replicas, *wanted: Any, **fields: Any) -> FetchRequest:
    made = request(*(("t", each) for each in wanted), **fields)
    topic = broker.topics.get("t")
    assert topic is not None
    made.topics[0].topic_id = topic.topic_id
    return made


def answered(broker: Replicas, made: FetchRequest) -> list[PartitionData]:
    answer = handle_fetch(broker.context(VERSION), made)
    assert not isinstance(answer, Parked)
    found = fetched(answer, VERSION)
    return [each for topic in found.responses for each in topic.partitions]


def of_follower(broker: Replicas, offset: int, **fields: Any) -> FetchRequest:
    made = asked(broker, at(offset), at(offset, 1), session_epoch=-1, **fields)
    made.replica_state = ReplicaState(replica_id=OTHER, replica_epoch=-1)
    return made


async def test_a_follower_that_is_not_in_sync_is_slowed_down(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, partitions=2)
        cluster = Cluster(broker)
        late, in_sync = (LedWithAnother(broker, place) for place in (T0, T1))
        late.elect(US, US)
        cluster.throttles.leader.follow(100, 11, 1)
        await broker.topics.alter_options(
            "t", lambda _: {"leader.replication.throttled.replicas": "*"}
        )
        first, second = answered(broker, of_follower(broker, 0))
        assert base_offsets(first.records) == base_offsets(second.records) == [0, 1, 2]
        first, second = answered(broker, of_follower(broker, 1))
        assert not first.records
        assert first.log_start_offset == 0
        assert base_offsets(second.records) == [1, 2]
        replication: Any = late.partition.replication
        assert replication.followers[OTHER].end.offset == 1  # it is known all the same
        broker.clock.advance(11_000)
        first, _ = answered(broker, of_follower(broker, 1))
        assert base_offsets(first.records) == [1, 2]
        del in_sync


async def test_what_followers_are_sent_is_counted_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, partitions=2)
        copied = Cluster(broker).throttles.leader.copied
        for place in (T0, T1):
            LedWithAnother(broker, place).elect(US, US)
        sent = answered(broker, of_follower(broker, 0))
        assert copied.count == sum(len(each.records or b"") for each in sent) > 0
        before = copied.count
        answered(broker, asked(broker, at(0), session_epoch=-1))  # as a consumer
        assert copied.count == before


async def test_who_has_to_wait_does_not_ask_again_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        cluster = Cluster(broker)
        LedWithAnother(broker, T0).elect(US, US)
        cluster.throttles.leader.follow(1, 11, 1)
        cluster.throttles.leader.record(1_000_000)
        await broker.topics.alter_options(
            "t", lambda _: {"leader.replication.throttled.replicas": f"0:{US}"}
        )
        made = asked(broker, at(), session_epoch=-1, max_wait_ms=500)
        made.replica_state = ReplicaState(replica_id=OTHER, replica_epoch=-1)
        waiting = handle_fetch(broker.context(VERSION), made)
        assert isinstance(waiting, Parked)
        broker.clock.advance(600)
        answer = fetched(await waiting, VERSION)
        assert not answer.responses[0].partitions[0].records


async def test_a_consumer_is_sent_to_its_rack(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        cluster = Cluster(broker)
        LedWithAnother(broker, T0).copy()
        (data,) = answered(broker, asked(broker, at(), rack_id="b", max_wait_ms=500))
        assert (data.preferred_read_replica, data.records) == (OTHER, b"")
        assert data.high_watermark == 3
        for rack in ("a", "c", ""):
            (data,) = answered(broker, asked(broker, at(), rack_id=rack))
            assert data.preferred_read_replica == -1
            assert base_offsets(data.records) == [0, 1, 2]
        cluster.read_replicas = None
        (data,) = answered(broker, asked(broker, at(), rack_id="b"))
        assert base_offsets(data.records) == [0, 1, 2]


async def test_it_is_told_in_a_session_though_nothing_else_is_new(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        Cluster(broker)
        led = LedWithAnother(broker, T0)
        led.elect(US, US)
        made = asked(broker, at(3), rack_id="b", session_epoch=0)
        first = fetched(handle_fetch(broker.context(VERSION), made), VERSION)
        assert first.responses[0].partitions[0].preferred_read_replica == -1
        led.elect(US, US, OTHER)
        led.copy()
        again = FetchRequest(
            session_id=first.session_id, session_epoch=1, rack_id="b", min_bytes=1
        )
        second = fetched(handle_fetch(broker.context(VERSION), again), VERSION)
        assert second.responses[0].partitions[0].preferred_read_replica == OTHER


async def test_no_short_way_leads_past_it(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        cluster = Cluster(broker)
        ways: Any = SimpleNamespace(
            access=None, user="", admits=lambda *_: True, allows=lambda *_: True
        )
        short = UsualFetch(broker.services, VERSION, ways)
        connection: Any = SimpleNamespace(peer_host="h")
        for rack, is_short in (("", True), ("b", False)):
            made = asked(broker, at(), session_epoch=-1, rack_id=rack)
            frame = memoryview(encode_request(made, VERSION, 1, "c"))[4:]
            assert (short(connection, frame) is not None) is is_short
        cluster.read_replicas = None
        again = UsualFetch(broker.services, VERSION, ways)
        assert again(connection, frame) is not None
