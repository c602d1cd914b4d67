from typing import Any

import pytest

from odradek.broker.replica.partition.followed import Followed
from odradek.broker.replica.partition.follower import Follower
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.broker.replica.partition.replication import Replication
from odradek.broker.replica.partition.view import Until
from odradek.protocol.errors import (
    ErrorCode,
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidUpdateVersion,
    KafkaError,
    NetworkException,
    NotLeaderOrFollower,
    OperationNotAttempted,
    UnknownLeaderEpoch,
)
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.broker.replica.partition.test_partition import FakeHost, append, partition
from tests.fakes.cluster import LAG_MAX_MS, FakeCluster, led_by


class Led:
    """A partition of brokers 1, 2 and 3, led by 1, with ``size`` records."""

    def __init__(
        self, *in_sync: int, size: int = 0, durability: bool = False, **options: Any
    ) -> None:
        self.host = FakeHost(bounds_by_durability=durability)
        self.cluster = self.host.cluster = FakeCluster()
        self.partition = partition(self.host, **options)
        self.partition.is_written = True
        self.size = 0
        self.partition.make_leader(led_by(1, *in_sync, leader_epoch=4))
        for _ in range(size):
            append(self.partition, acks=1)

    @property
    def replication(self) -> Replication:
        assert self.partition.replication is not None
        return self.partition.replication

    def follower(self, broker_id: int) -> Follower:
        return self.replication.follower(broker_id, has_epoch=False)

    def fetch(self, broker_id: int, offset: int, start: int = 0, **more: int) -> int:
        """A fetch by a follower; gives the high watermark after it."""
        place = OffsetMetadata(offset)
        follower = self.follower(broker_id)
        self.replication.note_fetch(follower, place, start, **more)
        return self.partition.view.high_watermark


def test_the_high_watermark_waits_for_all_in_sync() -> None:
    led = Led(1, 2, 3, size=5)
    assert led.partition.view.high_watermark == 0
    assert led.fetch(2, 5) == 0
    assert led.fetch(3, 3) == 3
    assert led.fetch(3, 5) == 5
    assert led.fetch(3, 1) == 5, "it never falls"


def test_with_commit_it_waits_for_our_own_disk_too() -> None:
    led = Led(1, 2, size=2, durability=True)
    assert led.fetch(2, 2) == 0
    led.host.committer.sync()
    assert led.partition.view.high_watermark == 2


def test_who_is_out_of_sync_and_far_behind_does_not_hold_it_back() -> None:
    led = Led(1, 2, size=5)
    assert led.fetch(2, 5) == 5
    assert led.fetch(3, 1) == 5
    append(led.partition, acks=1)
    assert led.fetch(2, 6) == 6


def test_who_is_about_to_join_holds_it_back() -> None:
    led = Led(1, 2)
    led.fetch(3, 0)  # has caught up now, and is proposed as in sync
    led.replication.on_answer(led.cluster.proposals[0], OperationNotAttempted())
    append(led.partition, acks=1)
    assert led.fetch(2, 1) == 0
    led.cluster.ineligible.add(3)
    led.fetch(2, 0)
    assert led.fetch(2, 1) == 1, "it may not join"


def test_nothing_is_replicated_while_too_few_are_in_sync() -> None:
    led = Led(1, size=1, min_insync_replicas=2)
    led.cluster.time_ms += LAG_MAX_MS + 1
    assert led.partition.view.high_watermark == 0
    assert led.fetch(2, 1) == 0
    led.cluster.accept(led.partition)
    assert led.partition.view.high_watermark == 1


def test_t127_isr_expand_needs_epoch_start_offset() -> None:
    led = Led(1, 3, size=3)
    led.partition.make_leader(led_by(1, 1, 3, leader_epoch=6, partition_epoch=1))
    append(led.partition, acks=1)
    assert led.partition.leadership.epoch_start_offset == 3
    assert led.fetch(2, 2) == 0, "broker 3 has not fetched: the watermark lags"
    assert led.partition.view.is_high_watermark_lagging
    assert led.cluster.proposals == [], "at the watermark, before the epoch's start"
    led.fetch(2, 3)
    assert [each.in_sync for each in led.cluster.proposals] == [(1, 3, 2)]


def test_an_expansion_needs_the_high_watermark() -> None:
    led = Led(1, size=3)
    assert led.partition.view.high_watermark == 3
    led.fetch(2, 2)
    assert led.cluster.proposals == []
    led.fetch(2, 3)
    assert led.cluster.proposals[0].in_sync == (1, 2)


def test_who_is_fenced_stopping_or_restarted_does_not_join() -> None:
    led = Led(1)
    led.cluster.ineligible.add(2)
    led.fetch(2, 0)
    led.cluster.broker_epochs[3] = 9
    led.fetch(3, 0, broker_epoch=8)
    assert led.cluster.proposals == []
    led.fetch(3, 0, broker_epoch=9)
    assert led.cluster.proposals[0].in_sync == (1, 3)


def test_one_change_is_in_flight_at_a_time() -> None:
    led = Led(1)
    led.fetch(2, 0)
    led.fetch(3, 0)
    assert [each.in_sync for each in led.cluster.proposals] == [(1, 2)]
    led.cluster.time_ms += LAG_MAX_MS + 1
    led.replication.shrink()
    assert len(led.cluster.proposals) == 1
    led.cluster.accept(led.partition)
    assert led.partition.leadership.replicas.in_sync == (1, 2)
    led.fetch(3, 0)
    assert led.cluster.proposals[-1].in_sync == (1, 2, 3)
    assert led.cluster.proposals[-1].partition_epoch == 1


def test_while_a_follower_is_being_added_it_counts() -> None:
    led = Led(1)
    led.fetch(2, 0)
    append(led.partition, acks=1)
    led.cluster.time_ms += LAG_MAX_MS + 1
    led.cluster.ineligible.add(2)  # so that only the proposal makes it count
    assert not led.partition.raise_high_watermark()
    led.replication.on_answer(led.cluster.proposals[0], IneligibleReplica())
    assert led.partition.view.high_watermark == 1


def test_while_a_follower_is_being_removed_it_counts() -> None:
    led = Led(1, 2, size=1)
    led.cluster.time_ms += LAG_MAX_MS
    led.replication.shrink()
    assert led.cluster.proposals == [], "exactly the limit"
    led.cluster.time_ms += 1
    led.replication.shrink()
    assert led.cluster.proposals[0].in_sync == (1,)
    assert not led.partition.raise_high_watermark()
    led.host.calls.clear()
    led.cluster.accept(led.partition)
    assert led.partition.view.high_watermark == 1
    assert led.host.calls == ["check all"]


def test_who_has_everything_stays_in_sync() -> None:
    led = Led(1, 2, 3, size=1)
    led.fetch(2, 1)
    led.cluster.time_ms += LAG_MAX_MS + 1
    led.replication.shrink()
    assert led.cluster.proposals[0].in_sync == (1, 2)


@pytest.mark.parametrize("refusal", [OperationNotAttempted(), IneligibleReplica()])
def test_a_refused_change_can_be_proposed_again(refusal: KafkaError) -> None:
    led = Led(1)
    led.fetch(2, 0)
    led.replication.on_answer(led.cluster.proposals[0], refusal)
    assert led.replication.proposal is None
    assert led.partition.leadership.replicas.in_sync == (1,)
    led.fetch(2, 0)
    assert len(led.cluster.proposals) == 2


@pytest.mark.parametrize("error", [FencedLeaderEpoch(), InvalidUpdateVersion()])
def test_who_is_outdated_waits_to_be_told(error: KafkaError) -> None:
    led = Led(1)
    led.fetch(2, 0)
    led.replication.on_answer(led.cluster.proposals[0], error)
    led.fetch(2, 0)
    assert len(led.cluster.proposals) == 1
    led.partition.make_leader(led_by(1, 1, partition_epoch=7))
    led.fetch(2, 0)
    assert led.cluster.proposals[-1].partition_epoch == 7


def test_an_unknown_error_is_tried_again_with_the_same_proposal() -> None:
    led = Led(1)
    led.fetch(2, 0)
    led.replication.on_answer(led.cluster.proposals[0], NetworkException())
    first, second = led.cluster.proposals
    assert first is second


def test_stale_answers_are_ignored() -> None:
    led = Led(1)
    led.fetch(2, 0)
    old = led.cluster.proposals[0]
    led.replication.on_answer(old, OperationNotAttempted())
    led.fetch(3, 0)
    led.replication.on_answer(old, old._replace(partition_epoch=1))
    assert led.partition.leadership.replicas.in_sync == (1,)
    current = led.cluster.proposals[-1]
    of_another_epoch = current._replace(leader_epoch=99, partition_epoch=9)
    led.replication.on_answer(current, of_another_epoch)
    assert led.partition.leadership.replicas.in_sync == (1,)
    assert led.replication.proposal is current


def test_who_holds_no_copy_is_told_so() -> None:
    led = Led(1)
    with pytest.raises(NotLeaderOrFollower):
        led.replication.follower(9, has_epoch=False)
    with pytest.raises(UnknownLeaderEpoch):
        led.replication.follower(9, has_epoch=True)


def test_the_low_watermark_is_that_of_the_living() -> None:
    led = Led(1, 2, 3, size=5)
    led.partition.durable_log_start.offset = 4
    assert led.partition.low_watermark == -1, "who never fetched may hold anything"
    led.fetch(2, 5, start=3)
    led.fetch(3, 5, start=2)
    assert led.partition.low_watermark == 2
    led.cluster.dead.add(3)
    assert led.partition.low_watermark == 3
    led.host.calls.clear()
    led.fetch(2, 5, start=4)
    assert (led.partition.low_watermark, led.host.calls) == (4, ["check all"])


def test_t107_make_leader_same_epoch_keeps_start_offset() -> None:
    led = Led(1, size=2)
    made = led.partition
    assert (made.leadership.epoch, made.leadership.epoch_start_offset) == (4, 0)
    made.make_leader(led_by(1, 1, 2, leader_epoch=4, partition_epoch=1))
    assert (made.leadership.epoch_start_offset, made.leadership.replicas.in_sync) == (
        0,
        (1, 2),
    )
    made.make_leader(led_by(1, 1, leader_epoch=5, partition_epoch=2))
    assert (made.leadership.epoch, made.leadership.epoch_start_offset) == (5, 2)
    assert made.view.epoch_end_offset(4) == (4, 2)
    assert made.view.epoch_end_offset(5) == (5, 2)


def test_an_older_decision_is_ignored() -> None:
    led = Led(1, 2)
    made = led.partition
    made.make_leader(led_by(1, 1, leader_epoch=5, partition_epoch=8))
    older = led_by(2, 2, leader_epoch=9, partition_epoch=7)
    made.make_leader(older)
    made.make_follower(older)
    assert (made.leadership.epoch, made.leadership.replicas.is_leader) == (5, True)


def test_a_leader_becomes_a_follower_and_leads_again() -> None:
    led = Led(1, 2, 3, size=1)
    led.fetch(2, 1)
    made = led.partition
    led.host.calls.clear()
    made.make_follower(led_by(2, 1, 2, leader_epoch=5, partition_epoch=1))
    assert made.leadership.replicas == ((1, 2, 3), (), False, 1)
    assert isinstance(made.replication, Followed)
    assert led.host.calls == ["check all"]
    with pytest.raises(NotLeaderOrFollower):
        append(made)
    made.make_follower(led_by(3, 1, leader_epoch=5, partition_epoch=2))
    made.make_leader(led_by(1, 1, 2, leader_epoch=6, partition_epoch=3))
    assert led.follower(2).end.offset == -1, "what it told another leader"


def test_a_partition_that_keeps_one_copy_needs_nobody() -> None:
    led = Led(1, 2, size=1)
    made = led.partition
    alone = LeaderAndIsr(1, 5, (1,), (1,), partition_epoch=1)
    made.make_leader(alone)
    assert (made.replication, made.view.high_watermark) == (None, 1)
    assert made.view.acknowledgement(1, Until.REPLICATED) == ErrorCode.NONE


def test_without_a_living_follower_the_log_start_is_our_own() -> None:
    """One that was killed fetches again before the controllers let it in."""
    led = Led(1, 2, 3, size=2)
    led.cluster.dead |= {2, 3}
    assert led.partition.low_watermark == 0
    assert led.fetch(2, 1) == 0


def test_a_decision_that_is_told_again_voids_no_proposal() -> None:
    """The controller may have agreed by then: who joins by that has to count."""
    led = Led(1, size=3)
    led.fetch(2, 3)
    assert led.cluster.proposals[0].in_sync == (1, 2)
    append(led.partition, acks=1)
    led.cluster.time_ms += LAG_MAX_MS + 1  # so that only the proposal makes it count
    led.partition.make_leader(led_by(1, 1, leader_epoch=4))
    assert led.partition.view.high_watermark == 3
    led.cluster.accept(led.partition)
    assert led.partition.leadership.replicas.in_sync == (1, 2)
    assert led.fetch(2, 4) == 4


def test_a_newer_decision_voids_a_proposal() -> None:
    led = Led(1)
    led.fetch(2, 0)
    led.partition.make_leader(led_by(1, 1, leader_epoch=4, partition_epoch=1))
    assert led.replication.proposal is None
    led.fetch(2, 0)
    led.partition.make_leader(led_by(1, 1, leader_epoch=5, partition_epoch=2))
    assert led.replication.proposal is None


def test_a_proposal_says_which_start_of_a_follower_it_means() -> None:
    led = Led(1)
    led.cluster.broker_epochs[2] = 7
    led.fetch(2, 0, broker_epoch=7)
    led.cluster.broker_epochs[2] = 8  # it is started anew; who knows what it has
    assert led.cluster.proposals[0].broker_epochs == (-1, 7)


def test_what_followers_had_before_epochs_that_we_missed_is_not_known() -> None:
    """Broker 2 may have led in epoch 5, and cut broker 3's copy."""
    led = Led(1, 2, 3, size=2)
    led.fetch(2, 1)
    assert led.fetch(3, 2) == 1
    made = led.partition
    made.make_leader(led_by(1, 1, 2, 3, leader_epoch=5, partition_epoch=1))
    assert led.follower(3).end.offset == 2, "nobody else has led"
    made.make_leader(led_by(1, 1, 3, leader_epoch=7, partition_epoch=2))
    assert made.view.high_watermark == 1
    assert led.fetch(3, 1) == 1
    assert led.fetch(3, 2) == 2


def test_who_gives_up_joining_holds_nobody_back() -> None:
    led = Led(1, 2)
    led.fetch(3, 0)
    led.replication.on_answer(led.cluster.proposals[0], OperationNotAttempted())
    append(led.partition, acks=1)
    assert led.fetch(2, 1) == 0
    led.cluster.ineligible.add(3)  # fenced: no decision on this partition says so
    led.host.calls.clear()
    led.replication.shrink()
    assert led.partition.view.high_watermark == 1
    assert led.host.calls == ["check all"]


def test_a_fetch_of_a_start_that_is_over_does_not_count() -> None:
    led = Led(1, 2, size=5)
    led.fetch(2, 3, broker_epoch=8)
    led.fetch(2, 5, broker_epoch=7)
    assert (led.follower(2).end.offset, led.follower(2).broker_epoch) == (3, 8)


def test_fewer_in_sync_may_be_enough_by_other_options() -> None:
    led = Led(1, size=1, min_insync_replicas=2)
    led.cluster.time_ms += LAG_MAX_MS + 1
    assert not led.partition.raise_high_watermark()
    led.host.calls.clear()
    led.partition.update_config(LogConfig(min_insync_replicas=1))
    assert led.partition.view.high_watermark == 1
    assert led.host.calls == ["check all"]


def test_what_another_leader_said_is_not_committed_in_a_new_epoch() -> None:
    led = Led(1, 2, size=1)
    made = led.partition
    made.make_follower(led_by(2, 1, 2, leader_epoch=5, partition_epoch=1))
    assert isinstance(made.replication, Followed)
    made.replication.high_watermark = 9
    made.make_follower(led_by(2, 1, 2, leader_epoch=5, partition_epoch=2))
    assert made.replication.high_watermark == 9
    made.make_follower(led_by(3, 1, leader_epoch=6, partition_epoch=3))
    assert isinstance(made.replication, Followed)
    assert made.replication.high_watermark == 0
