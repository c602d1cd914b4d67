from odradek.broker.replica.partition.follower import Follower
from odradek.storage.values.offset_metadata import UNKNOWN_OFFSET, OffsetMetadata

LAG_MAX_MS = 10_000


def fetch(follower: Follower, offset: int, leader_end: int, now_ms: int) -> int:
    """Fetch; gives when the follower had caught up last."""
    follower.note_fetch(OffsetMetadata(offset), 0, leader_end, now_ms)
    return follower.caught_up_ms


def test_t128_follower_caught_up_time_rule() -> None:
    follower = Follower(2)
    assert fetch(follower, 5, leader_end=10, now_ms=1000) == 0
    assert fetch(follower, 9, leader_end=14, now_ms=2000) == 0, "10 was the end then"
    # The leader never rests, but what was its end at 2,000 has been reached.
    assert fetch(follower, 14, leader_end=20, now_ms=3000) == 2000
    assert fetch(follower, 19, leader_end=30, now_ms=4000) == 2000
    assert fetch(follower, 30, leader_end=30, now_ms=5000) == 5000
    assert fetch(follower, 31, leader_end=30, now_ms=6000) == 6000
    assert fetch(follower, 3, leader_end=40, now_ms=7000) == 6000, "never back"


def test_t128_the_end_it_saw_never_falls() -> None:
    follower = Follower(2)
    fetch(follower, 5, leader_end=10, now_ms=1000)
    fetch(follower, 5, leader_end=8, now_ms=2000)
    assert fetch(follower, 8, leader_end=12, now_ms=3000) == 0


def test_a_fetch_says_what_it_has() -> None:
    follower = Follower(2)
    assert (follower.end, follower.log_start_offset) == (UNKNOWN_OFFSET, -1)
    follower.note_fetch(OffsetMetadata(7, 0, 70), 3, 10, 1000, broker_epoch=4)
    assert (follower.end, follower.log_start_offset) == (OffsetMetadata(7, 0, 70), 3)
    assert follower.broker_epoch == 4


def test_who_has_everything_is_caught_up_however_long_ago() -> None:
    follower = Follower(2)
    fetch(follower, 10, leader_end=10, now_ms=1000)
    late_ms = 1000 + LAG_MAX_MS + 1
    assert follower.is_caught_up(10, late_ms, LAG_MAX_MS)
    assert not follower.is_caught_up(11, late_ms, LAG_MAX_MS)
    assert follower.is_caught_up(11, late_ms - 1, LAG_MAX_MS), "exactly the limit"


def test_a_new_leader_trusts_those_in_sync_for_a_while() -> None:
    follower = Follower(2)
    fetch(follower, 10, leader_end=10, now_ms=1000)
    follower.begin_epoch(20, 5000, is_in_sync=True, is_led_anew=True)
    assert (follower.end, follower.caught_up_ms) == (UNKNOWN_OFFSET, 5000)
    follower.begin_epoch(20, 6000, is_in_sync=False, is_led_anew=True)
    assert follower.caught_up_ms == 0


def test_in_a_later_epoch_of_ours_it_keeps_its_place() -> None:
    follower = Follower(2)
    fetch(follower, 10, leader_end=12, now_ms=1000)
    follower.begin_epoch(20, 5000, is_in_sync=True, is_led_anew=False)
    assert (follower.end.offset, follower.caught_up_ms) == (10, 5000)
    assert fetch(follower, 20, leader_end=25, now_ms=6000) == 5000
