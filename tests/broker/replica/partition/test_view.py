"""What readers see; the rest of a partition is in ``test_partition``."""

from tests.broker.replica.partition.test_partition import FakeHost, append, partition
from tests.fakes.cluster import FakeCluster, led_by


def test_the_watermark_lags_until_it_reaches_the_leader_epoch() -> None:
    host = FakeHost()
    host.cluster = FakeCluster()
    led = partition(host)
    led.is_written = True
    append(led, acks=1)
    led.make_leader(led_by(1, 1, replicas=(1,), leader_epoch=7))
    assert (led.leadership.epoch_start_offset, led.view.high_watermark) == (1, 0)
    assert led.view.is_high_watermark_lagging
    host.committer.sync()
    assert not led.view.is_high_watermark_lagging


def test_epochs_of_a_partition_without_files() -> None:
    led = partition(FakeHost())
    assert led.view.epoch_end_offset(0) == (0, 0)
    assert led.view.epoch_end_offset(3) == (3, 0)
    assert led.view.epoch_end_offset(4) == (-1, -1)
    assert led.view.epoch_end_offset(-1) == (-1, -1)
