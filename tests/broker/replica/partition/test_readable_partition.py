"""What readers see; the rest of a partition is in ``test_partition``."""

import pytest

from odradek.protocol.errors import (
    FencedLeaderEpoch,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)
from tests.broker.replica.partition.test_partition import FakeHost, append, partition
from tests.fakes.cluster import FakeCluster, led_by


def test_the_epoch_is_checked_before_the_leader() -> None:
    followed = partition(FakeHost())
    followed.make_follower(led_by(2, leader_epoch=5))
    for epoch, error in ((4, FencedLeaderEpoch), (6, UnknownLeaderEpoch)):
        with pytest.raises(error):
            followed.check_leader(epoch)
        with pytest.raises(error):
            followed.check_replica(epoch)
    for epoch in (5, -1):
        with pytest.raises(NotLeaderOrFollower):
            followed.check_leader(epoch)
        followed.check_replica(epoch)


def test_what_is_refused_is_refused_to_every_reader() -> None:
    gone = partition(FakeHost())
    gone.refuse(KafkaStorageError("its disk is gone"))
    with pytest.raises(KafkaStorageError):
        gone.check_leader(99)
    with pytest.raises(KafkaStorageError):
        gone.check_replica()


def test_the_watermark_lags_until_it_reaches_the_leader_epoch() -> None:
    host = FakeHost()
    host.cluster = FakeCluster()
    led = partition(host)
    led.is_written = True
    append(led, acks=1)
    led.make_leader(led_by(1, 1, replicas=(1,), leader_epoch=7))
    assert (led.epoch_start_offset, led.high_watermark) == (1, 0)
    assert led.is_high_watermark_lagging
    host.committer.sync()
    assert not led.is_high_watermark_lagging


def test_epochs_of_a_partition_without_files() -> None:
    led = partition(FakeHost())
    assert led.epoch_end_offset(0) == (0, 0)
    assert led.epoch_end_offset(3) == (3, 0)
    assert led.epoch_end_offset(4) == (-1, -1)
    assert led.epoch_end_offset(-1) == (-1, -1)
