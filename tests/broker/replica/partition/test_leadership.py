from typing import Any

import pytest

from odradek.broker.replica.partition.leadership import SETTLING_MS, Leadership
from odradek.broker.replica.partition.replica_state import ReplicaState
from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)
from odradek.storage.producers.states import ProducerStates
from tests.broker.replica.partition.test_partition import FakeHost
from tests.fakes.cluster import FakeCluster
from tests.fakes.replicas import batch_of

LED = ReplicaState((1,), (1,))
ALONE: Any = FakeHost()


def test_who_leads_serves_those_who_know_its_epoch() -> None:
    leadership = Leadership(5, LED, ALONE)
    for epoch in (5, -1):
        leadership.check(epoch)
        leadership.check_replica(epoch)


def test_the_epoch_is_checked_before_the_leader() -> None:
    leadership = Leadership(5, LED._replace(is_leader=False), ALONE)
    for epoch, error in ((4, FencedLeaderEpoch), (6, UnknownLeaderEpoch)):
        with pytest.raises(error):
            leadership.check(epoch)
        with pytest.raises(error):
            leadership.check_replica(epoch)
    for epoch in (5, -1):
        with pytest.raises(NotLeaderOrFollower):
            leadership.check(epoch)
        leadership.check_replica(epoch)


def test_what_is_refused_is_refused_to_every_reader() -> None:
    leadership = Leadership(5, LED, ALONE)
    leadership.refusal = KafkaStorageError("its disk is gone")
    with pytest.raises(KafkaStorageError):
        leadership.check(99)
    with pytest.raises(KafkaStorageError):
        leadership.check_replica()


def test_an_epoch_begins_where_the_log_ends() -> None:
    leadership = Leadership(5, LED, ALONE)
    leadership.begin_epoch(6, start_offset=40)
    assert (leadership.epoch, leadership.epoch_start_offset) == (6, 40)
    with pytest.raises(FencedLeaderEpoch):
        leadership.check(5)


def test_replicas_say_whether_enough_are_in_sync() -> None:
    leadership = Leadership(5, LED, ALONE)
    assert leadership.has_enough_in_sync
    leadership.use_replicas(ReplicaState((1, 2), (1,)), min_insync_replicas=2)
    assert not leadership.has_enough_in_sync
    leadership.use_replicas(ReplicaState((1, 2), (1, 2)), min_insync_replicas=2)
    assert leadership.has_enough_in_sync


def test_one_that_has_no_others_never_settles() -> None:
    leadership = Leadership(5, LED, ALONE)
    leadership.begin_epoch(6, start_offset=40)
    assert leadership.settling_since_ms is None


def test_it_settles_from_each_epoch_on_and_when_enough_are_in_sync_again() -> None:
    host: Any = FakeHost()
    cluster = host.cluster = FakeCluster()
    leadership = Leadership(5, LED, host)

    def settles() -> bool:
        cluster.time_ms += 1
        return leadership.settling_since_ms == cluster.time_ms - 1

    assert settles()
    leadership.begin_epoch(6, start_offset=40)
    assert settles()
    leadership.use_replicas(ReplicaState((1, 2), (1,)), min_insync_replicas=2)
    assert not settles()
    leadership.use_replicas(ReplicaState((1, 2), (1, 2)), min_insync_replicas=2)
    assert settles()
    leadership.use_replicas(ReplicaState((1, 2, 3), (1, 2)), min_insync_replicas=2)
    assert not settles()


def test_while_it_settles_nothing_may_be_left_out() -> None:
    host: Any = FakeHost()
    cluster = host.cluster = FakeCluster()
    leadership, producers = Leadership(5, LED, host), ProducerStates(60_000)

    def check(**producer: int) -> None:
        leadership.check_nothing_left_out(batch_of(b"v", **producer), producers)

    check()
    check(producer_id=7, producer_epoch=0, base_sequence=0)
    leadership.check_nothing_left_out(b"no batch", producers)
    cluster.time_ms += SETTLING_MS - 1
    with pytest.raises(NotLeaderOrFollower):
        check(producer_id=7, producer_epoch=0, base_sequence=1)
    cluster.time_ms += 1
    check(producer_id=7, producer_epoch=0, base_sequence=1)
    assert leadership.settling_since_ms is None
