"""What a follower mostly gets takes a short way, which does what the long one does."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.record_batch import CHECKED_POSITION, stamp
from odradek.storage.files.files import StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch
from tests.storage.logs import EPOCH, NOW, Producer, marker, new_log, produce

READ_MAX = 1 << 20


def at(offset: int, count: int = 1, epoch: int = EPOCH, **options: Any) -> bytearray:
    made = batch(offset, count, **{"timestamp": NOW} | options)
    stamp(made, offset, epoch)
    return made


def begun(**options: Any) -> UnifiedLog:
    """One batch is there, by the long way: its epoch and its segment have begun."""
    log = new_log(**options)
    log.replica_appender.append_as_follower(at(0, 5), NOW, EPOCH)
    return log


def took(log: UnifiedLog, *batches: Iterable[int], epoch_max: int = EPOCH) -> bool:
    data = b"".join(map(bytes, batches))
    return log.replica_appender.append_usual(memoryview(data), NOW, epoch_max)


def state_of(log: UnifiedLog) -> object:
    active = log.local.active
    data = bytes(log.read(0, READ_MAX, FetchIsolation.LOG_END).records)
    indexes = active.indexes
    states = [log.producers.get(each) for each in (7, 8)]
    producers = [
        [repr(getattr(each, name)) for name in type(each).__slots__]
        for each in states
        if each is not None
    ]
    return (
        data,
        log.local.end,
        indexes.latest,
        indexes.offsets.count,
        indexes.times.count,
        log.producers.map_end_offset,
        log.producers.first_unstable_offset,
        producers,
    )


def led(*, is_transactional: bool = False) -> list[bytearray]:
    """What a leader has of two producers, its first batch left out."""
    leader = new_log(segment_bytes=READ_MAX)
    produce(leader, 5)
    sizes = [leader.local.size]
    for sequence in range(4):
        for id_ in (7, 8):
            producer = Producer(id_, 0, sequence)
            produce(leader, producer=producer, is_transactional=is_transactional)
            sizes.append(leader.local.size)
    data = bytes(leader.read(0, READ_MAX, FetchIsolation.LOG_END).records)
    return [bytearray(data[start:end]) for start, end in pairwise(sizes)]


@pytest.mark.parametrize("together", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", ["nobody", "producers", "transactions"])
def test_it_does_what_the_long_way_does(kind: str, together: int) -> None:
    options: Any = {"segment_bytes": READ_MAX, "index_interval_bytes": 100}
    one, other = begun(**options), begun(**options)
    batches = [
        at(5 + 3 * each, 3, timestamp=NOW + 10 * (each ^ 1)) for each in range(8)
    ]
    if kind != "nobody":
        batches = led(is_transactional=kind == "transactions")
    for first in range(0, len(batches), together):
        some = batches[first : first + together]
        assert took(one, *some)
        other.replica_appender.append_as_follower(b"".join(some), NOW, EPOCH)
        assert state_of(one) == state_of(other)
    assert one.log_end_offset > 5


def damaged(made: bytearray, position: int = CHECKED_POSITION + 50) -> bytearray:
    made[position] ^= 1
    return made


@pytest.mark.parametrize(
    "batches",
    [
        [],
        [at(6)],
        [at(4)],
        [at(5), at(7)],
        [at(5), at(5)],
        [at(5, epoch=EPOCH + 1)],
        [at(5, epoch=EPOCH - 1)],
        [at(5), at(6, epoch=EPOCH + 1)],
        [damaged(at(5))],
        [damaged(at(5), 16)],
        [damaged(at(5), 11)],
        [damaged(at(5), 8)],
        [at(5), damaged(at(6))],
        [at(5)[:-1]],
        [at(5), at(6)[:-1]],
        [at(5), at(6)[:30]],
        [at(5)[:60]],
        [at(5, value=bytes(2_000))],
    ],
)
def test_what_is_special_is_left_to_the_long_way(batches: list[bytearray]) -> None:
    log = begun(segment_bytes=1_000)
    before = state_of(log)
    assert not took(log, *batches)
    assert state_of(log) == before


def test_a_new_epoch_and_a_new_segment_begin_by_the_long_way() -> None:
    assert not took(new_log(), at(0))
    log = begun(segment_bytes=200)
    assert not took(log, at(5, value=bytes(100)))
    assert not took(begun(), at(5), epoch_max=EPOCH - 1)


def test_a_marker_goes_by_the_long_way() -> None:
    leader = new_log(segment_bytes=READ_MAX)
    produce(leader, 5, producer=Producer(7, 0, 0), is_transactional=True)
    marker(leader, ControlType.ABORT)
    data = leader.read(0, READ_MAX, FetchIsolation.LOG_END).records
    first, last = data[: leader.local.size - 78], data[leader.local.size - 78 :]
    log = new_log(segment_bytes=READ_MAX)
    log.replica_appender.append_as_follower(bytearray(first), NOW, EPOCH)
    assert not took(log, last)
    log.replica_appender.append_as_follower(bytearray(last), NOW, EPOCH)
    assert len(list(log.local.active.transactions.entries())) == 1


def test_a_disk_that_fails_fails_the_log() -> None:
    files = FakeFiles()
    log = begun(files=files)
    files.fail("append")
    with pytest.raises(StorageFailure):
        took(log, at(5))
    assert log.is_failed
    assert not took(log, at(5))
