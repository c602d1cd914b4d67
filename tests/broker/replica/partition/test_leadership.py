import pytest

from odradek.broker.replica.partition.leadership import Leadership
from odradek.broker.replica.partition.replica_state import ReplicaState
from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)

LED = ReplicaState((1,), (1,))


def test_who_leads_serves_those_who_know_its_epoch() -> None:
    leadership = Leadership(5, LED)
    for epoch in (5, -1):
        leadership.check(epoch)
        leadership.check_replica(epoch)


def test_the_epoch_is_checked_before_the_leader() -> None:
    leadership = Leadership(5, LED._replace(is_leader=False))
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
    leadership = Leadership(5, LED)
    leadership.refusal = KafkaStorageError("its disk is gone")
    with pytest.raises(KafkaStorageError):
        leadership.check(99)
    with pytest.raises(KafkaStorageError):
        leadership.check_replica()


def test_an_epoch_begins_where_the_log_ends() -> None:
    leadership = Leadership(5, LED)
    leadership.begin_epoch(6, start_offset=40)
    assert (leadership.epoch, leadership.epoch_start_offset) == (6, 40)
    with pytest.raises(FencedLeaderEpoch):
        leadership.check(5)


def test_replicas_say_whether_enough_are_in_sync() -> None:
    leadership = Leadership(5, LED)
    assert leadership.has_enough_in_sync
    leadership.use_replicas(ReplicaState((1, 2), (1,)), min_insync_replicas=2)
    assert not leadership.has_enough_in_sync
    leadership.use_replicas(ReplicaState((1, 2), (1, 2)), min_insync_replicas=2)
    assert leadership.has_enough_in_sync
