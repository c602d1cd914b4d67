import gc
import weakref

from odradek.broker.replica.partition.fetch_reader import PartitionFetch
from odradek.broker.replica.waiting.follower_reads import (
    EXPECTED_MS,
    HURRIED_WAIT_MS,
    LOOK_MS,
    FollowerReads,
)
from odradek.broker.replica.waiting.gathering import GATHERING_MS
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

FIRST, SECOND, UNKNOWN = (TopicPartition("t", each) for each in range(3))
WANTED = {each: PartitionFetch(each, 7, 100) for each in (FIRST, SECOND)}


def test_what_has_changed_is_selected_once() -> None:
    reads = FollowerReads(WANTED)
    reads.note_change(SECOND)
    reads.note_append(SECOND)
    reads.note_append(UNKNOWN)  # which it has forgotten
    assert reads.select() == [WANTED[SECOND]]
    assert reads.select() == []


def test_what_was_not_told_is_selected_again() -> None:
    reads = FollowerReads(WANTED)
    reads.note_append(FIRST)
    reads.keep_all(reads.select())
    assert reads.select() == [WANTED[FIRST]]


def test_all_are_due_at_first_and_from_time_to_time() -> None:
    reads = FollowerReads(WANTED)
    assert reads.is_full_due(0)
    reads.look_at_all(1000, 30_000)
    assert not reads.is_full_due(1000 + LOOK_MS - 1)
    assert reads.is_full_due(1000 + LOOK_MS)
    reads.look_at_all(2000, 400)  # who lags so long is not in sync
    assert reads.is_full_due(2100)
    reads.look_at_all(3000, 30_000)
    reads.look_at_all_next()
    assert reads.is_full_due(3000)


def test_what_changed_before_all_are_looked_at_is_seen_then() -> None:
    reads = FollowerReads(WANTED)
    reads.note_change(FIRST)
    reads.look_at_all(0, 30_000)
    assert reads.select() == []


def test_it_waits_for_a_moment_only_until_it_has_named_what_is_new() -> None:
    reads = FollowerReads(WANTED)
    assert reads.wait_max_ms(1000, 500) == 500
    reads.expect(FIRST, 1000)
    reads.expect(SECOND, 1000)
    reads.note_named(FIRST)
    assert reads.wait_max_ms(1000, 500) == HURRIED_WAIT_MS
    assert reads.wait_max_ms(1000, 5) == 5
    reads.note_named(SECOND)
    assert reads.wait_max_ms(1000, 500) == 500


def test_what_is_never_named_is_not_expected_for_ever() -> None:
    reads = FollowerReads(WANTED)
    reads.expect(FIRST, 1000)
    assert reads.wait_max_ms(1000 + EXPECTED_MS - 1, 500) == HURRIED_WAIT_MS
    assert reads.wait_max_ms(1000 + EXPECTED_MS, 500) == 500


def test_a_session_that_is_gone_is_held_by_nobody() -> None:
    clock, reads = FakeClock(), FollowerReads(WANTED)
    held = weakref.ref(reads)
    assert reads.gathers(2, clock)
    gc.disable()
    try:
        del reads
        clock.advance(GATHERING_MS)
        assert held() is None
    finally:
        gc.enable()
