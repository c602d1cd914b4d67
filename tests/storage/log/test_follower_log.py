"""A follower's log beside its leader's: it becomes the same, whatever was there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from odradek.storage.local.leader_epochs import EpochEndOffset
from odradek.storage.log.follower_log import FollowerLog, LeaderAnswer
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.validation.batch_analysis import UnexpectedAppendOffset
from odradek.storage.values.log_read import FetchIsolation
from tests.storage.logs import NOW, Producer, new_log, produce, read_all, reopened, sync

if TYPE_CHECKING:
    from odradek.storage.files.files import Buffer


def leader(batches: int = 10, epochs: Sequence[int] = (4,)) -> UnifiedLog:
    log = new_log()
    for epoch in epochs:
        for _ in range(batches):
            producer = Producer(7, 0, log.log_end_offset)
            produce(log, 3, producer=producer, leader_epoch=epoch)
    sync(log)
    return log


def follower(log: UnifiedLog | None = None) -> FollowerLog:
    return FollowerLog(log or new_log(), lambda: None)


def fetch(leading: UnifiedLog, following: FollowerLog, size: int = 500) -> LeaderAnswer:
    """What the leader answers, with the check of the last fetched epoch."""
    offset, epoch = following.fetch_offset, following.last_fetched_epoch
    diverging = None
    if epoch >= 0:
        end = leading.epoch_end_offset(epoch)
        if end.epoch < epoch or end.end_offset < offset:
            diverging = end
    records: Buffer = b""
    if diverging is None:
        records = leading.read(offset, size, FetchIsolation.LOG_END).records
    return LeaderAnswer(
        offset, records, leading.high_watermark, leading.log_start_offset, diverging
    )


def catch_up(leading: UnifiedLog, following: FollowerLog) -> None:
    following.begin(NOW)
    for _ in range(100):
        answer = fetch(leading, following)
        following.take(answer, NOW)
        if answer.diverging is None and not len(answer.records):
            return
    raise AssertionError("it does not catch up")


def test_batches_above_the_epoch_that_is_followed_are_not_appended() -> None:
    leading, following = leader(2, epochs=(4, 5)), follower()
    records = fetch(leading, following, 1 << 20).records
    info = following.append(records, NOW, 4)
    assert (info.last_offset, following.fetch_offset) == (5, 6)
    assert following.last_fetched_epoch == 4
    assert following.append(records[info.size :], NOW, 4).last_offset == -1
    following.append(records[info.size :], NOW, 5)
    assert following.fetch_offset == leading.log_end_offset
    catch_up(leading, following)
    assert same(leading, following)


def same(leading: UnifiedLog, following: FollowerLog) -> bool:
    log = following.log
    return (
        read_all(log) == read_all(leading)
        and log.epochs.entries == leading.epochs.entries
        and log.high_watermark == leading.high_watermark
        and log.log_start_offset == leading.log_start_offset
        and [vars_of(each) for each in log.producers]
        == [vars_of(each) for each in leading.producers]
    )


def vars_of(state: object) -> list[object]:
    return [getattr(state, name) for name in ("producer_id", "batches")]


def test_it_becomes_the_same() -> None:
    leading, following = leader(epochs=(1, 3)), follower()
    catch_up(leading, following)
    assert same(leading, following)
    sync(following.log)
    again = reopened(following.log, recovery_point=60)
    assert read_all(again) == read_all(leading)


def test_its_segments_are_called_as_their_first_batches() -> None:
    leading, following = leader(), follower()
    catch_up(leading, following)
    for segment in following.log.local.segments:
        found = segment.reader.find(segment.base_offset)
        assert found is not None
        assert found[0] == 0


def test_an_answer_to_another_question_is_ignored() -> None:
    leading, following = leader(), follower()
    answer = fetch(leading, following)
    following.take(answer, NOW)
    end = following.fetch_offset
    assert following.take(answer, NOW) is None
    assert following.fetch_offset == end > 0


def test_t170_follower_hw_and_start_applied_after_append() -> None:
    leading, following = leader(), follower()
    following.take(fetch(leading, following), NOW)
    before = following.fetch_offset
    following.log.visibility.follow_leader(2)
    leading.increment_log_start(4)
    answer = fetch(leading, following)
    info = following.take(answer, NOW)
    assert info is not None
    assert info.base_offset == before
    # Above what could be reached without the records: they were appended first.
    assert following.log.high_watermark == info.last_offset + 1 > before
    assert (info.log_start_offset, following.log.log_start_offset) == (0, 4)


def test_t170_not_on_diverging_response() -> None:
    leading, following = leader(epochs=(1, 4)), follower()
    catch_up(leading, following)
    for _ in range(4):
        produce(following.log, 3, leader_epoch=2)  # as a leader nobody knew of
    following.log.epochs.truncate_from_end(30)
    following.log.epochs.assign(2, 30)
    high, start = following.log.high_watermark, following.log.log_start_offset
    leading.increment_log_start(9)
    answer = fetch(leading, following)
    assert answer.diverging == (1, 30)
    assert following.take(answer, NOW) is None
    assert following.fetch_offset == 30
    assert following.log.high_watermark == min(high, 30)
    assert following.log.log_start_offset == start
    catch_up(leading, following)
    assert following.log.high_watermark == 60
    assert following.log.log_start_offset == 9


def test_the_high_watermark_is_at_most_what_it_has_and_may_fall() -> None:
    leading, following = leader(), follower()
    answer = fetch(leading, following)
    following.take(answer, NOW)
    end = following.fetch_offset
    assert following.log.high_watermark == end < leading.high_watermark
    following.take(LeaderAnswer(end, b"", 4, 0), NOW)
    assert following.log.high_watermark == 4


def test_a_log_start_beyond_its_high_watermark_waits() -> None:
    leading, following = leader(), follower()
    answer = fetch(leading, following)
    following.take(answer._replace(high_watermark=4, log_start_offset=9), NOW)
    assert following.log.log_start_offset == following.log.high_watermark == 4


def test_t168_follower_mid_batch_log_start_after_delete_records() -> None:
    leading, following = leader(), follower()
    leading.increment_log_start(4)
    checkpoints = []
    following = FollowerLog(
        new_log(), lambda: checkpoints.append(following.log.recovery_point)
    )
    assert following.follow_out_of_range(4, 30, NOW) == 4
    sync(following.log)
    answer = fetch(leading, following)
    info = following.append(answer.records, NOW)
    assert info.base_offset == 3
    assert following.log.log_start_offset == 3
    assert following.log.local.segments.first.base_offset == 3
    assert following.log.log_end_offset == info.last_offset + 1
    assert checkpoints[-1] == 3  # the recovery point went back
    following.log.visibility.follow_leader(30)
    catch_up(leading, following)
    assert following.log.log_start_offset == 4
    assert read_all(following.log) == read_all(leading)


def test_only_an_empty_log_starts_at_the_batch() -> None:
    leading, following = leader(), follower()
    catch_up(leading, following)
    records = leading.read(27, 500, FetchIsolation.LOG_END).records
    with pytest.raises(UnexpectedAppendOffset) as raised:
        following.append(records, NOW)
    assert (raised.value.first_offset, raised.value.last_offset) == (27, 29)
    empty = follower()
    empty.log.truncation.truncate_fully_and_start_at(40, NOW)
    with pytest.raises(UnexpectedAppendOffset):
        empty.append(records, NOW)  # it ends below 40 altogether
    assert empty.fetch_offset == 40


def test_a_divergence_is_found_epoch_by_epoch() -> None:
    leading = leader(batches=4, epochs=(1, 5))
    following = follower(leader(batches=6, epochs=(1, 2, 3)))
    following.log.epochs.assign(3, 36)
    assert following.log.log_end_offset == 54
    catch_up(leading, following)
    assert same(leading, following)


def test_an_epoch_that_the_follower_lacks_is_asked_for_again() -> None:
    following = follower(leader(batches=4, epochs=(1, 3)))
    cut = following.truncate_to_divergence(EpochEndOffset(2, 20), NOW)
    assert cut == (12, False)
    assert following.fetch_offset == 12
    cut = following.truncate_to_divergence(EpochEndOffset(1, 10), NOW)
    assert cut == (10, True)
    assert following.log.log_end_offset == 10


def test_without_epochs_the_leaders_end_counts() -> None:
    following = follower(leader())
    following.log.epochs.clear()
    assert following.truncate_to_divergence(EpochEndOffset(4, 100), NOW) == (30, True)
    assert following.truncate_to_divergence(EpochEndOffset(4, 20), NOW) == (20, True)


def test_without_epochs_it_begins_at_the_high_watermark() -> None:
    following = follower(leader())
    following.log.visibility.follow_leader(12)
    assert following.begin(NOW) == 30
    following.log.epochs.clear()
    assert following.begin(NOW) == 12


def test_out_of_range() -> None:
    following = follower(leader())
    assert following.follow_out_of_range(5, 40, NOW) == 30
    assert following.follow_out_of_range(5, 21, NOW) == 21
    assert following.follow_out_of_range(100, 140, NOW) == 100
    assert following.log.log_start_offset == 100
