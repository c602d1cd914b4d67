"""A follower's log beside its leader's: it becomes the same, whatever was there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from odradek.storage.local.leader_epochs import EpochEndOffset
from odradek.storage.local.watermarks import LogStartReason
from odradek.storage.log.follower_log import FollowerLog
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


def fetch(leading: UnifiedLog, following: FollowerLog, size: int = 500) -> "Buffer":
    """What the leader has behind the end of the follower."""
    return leading.read(
        following.log.log_end_offset, size, FetchIsolation.LOG_END
    ).records


def divergence(leading: UnifiedLog, following: FollowerLog) -> EpochEndOffset | None:
    """What the leader says of the last epoch of the follower."""
    epoch = following.log.latest_epoch
    end = leading.epoch_end_offset(epoch)
    parts = end.epoch < epoch or end.end_offset < following.log.log_end_offset
    return end if epoch >= 0 and parts else None


def catch_up(leading: UnifiedLog, following: FollowerLog) -> None:
    following.begin(NOW)
    log = following.log
    for _ in range(100):
        diverging = divergence(leading, following)
        if diverging is not None:
            following.truncate_to_divergence(diverging, NOW)
            continue
        records = fetch(leading, following)
        following.append(records, NOW)
        log.visibility.raise_to(leading.high_watermark)
        log.increment_log_start(
            min(leading.log_start_offset, log.high_watermark),
            LogStartReason.LEADER_OFFSET_INCREMENT,
        )
        if not len(records):
            return
    raise AssertionError("it does not catch up")


def test_batches_above_the_epoch_that_is_followed_are_not_appended() -> None:
    leading, following = leader(2, epochs=(4, 5)), follower()
    records = fetch(leading, following, 1 << 20)
    info = following.append(records, NOW, 4)
    assert (info.last_offset, following.log.log_end_offset) == (5, 6)
    assert following.log.latest_epoch == 4
    assert following.append(records[info.size :], NOW, 4).last_offset == -1
    following.append(records[info.size :], NOW, 5)
    assert following.log.log_end_offset == leading.log_end_offset
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


def test_t168_follower_mid_batch_log_start_after_delete_records() -> None:
    leading, following = leader(), follower()
    leading.increment_log_start(4)
    checkpoints = []
    following = FollowerLog(
        new_log(), lambda: checkpoints.append(following.log.recovery_point)
    )
    following.follow_out_of_range(4, 30, NOW)
    assert following.log.log_end_offset == 4
    sync(following.log)
    info = following.append(fetch(leading, following), NOW)
    assert info.base_offset == 3
    assert following.log.log_start_offset == 3
    assert following.log.local.segments.first.base_offset == 3
    assert following.log.log_end_offset == info.last_offset + 1
    assert checkpoints[-1] == 3  # the recovery point went back
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
    assert empty.log.log_end_offset == 40


def test_a_divergence_is_found_epoch_by_epoch() -> None:
    leading = leader(batches=4, epochs=(1, 5))
    following = follower(leader(batches=6, epochs=(1, 2, 3)))
    following.log.epochs.assign(3, 36)
    assert following.log.log_end_offset == 54
    catch_up(leading, following)
    assert same(leading, following)


def test_an_epoch_that_the_follower_lacks_is_asked_for_again() -> None:
    following = follower(leader(batches=4, epochs=(1, 3)))
    following.truncate_to_divergence(EpochEndOffset(2, 20), NOW)
    assert following.log.log_end_offset == 12
    following.truncate_to_divergence(EpochEndOffset(1, 10), NOW)
    assert following.log.log_end_offset == 10


def test_without_epochs_the_leaders_end_counts() -> None:
    following = follower(leader())
    following.log.epochs.clear()
    for told, end in ((100, 30), (20, 20)):
        following.truncate_to_divergence(EpochEndOffset(4, told), NOW)
        assert following.log.log_end_offset == end


def test_without_epochs_it_begins_at_the_high_watermark() -> None:
    following = follower(leader())
    following.log.visibility.restore(12)
    following.begin(NOW)
    assert following.log.log_end_offset == 30
    following.log.epochs.clear()
    following.begin(NOW)
    assert following.log.log_end_offset == 12


def test_out_of_range() -> None:
    following = follower(leader())
    for start, told, end in ((5, 40, 30), (5, 21, 21), (100, 140, 100)):
        following.follow_out_of_range(start, told, NOW)
        assert following.log.log_end_offset == end
    assert following.log.log_start_offset == 100
