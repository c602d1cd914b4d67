"""A partition with many producers: nobody else waits for what is kept of them.

What a step costs the loop is counted in calls, so the machine has no say in it.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from odradek.storage.formats.producer_entry import parse_producers
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.known import CHANGED_MAX
from odradek.storage.producers.snapshot import list_snapshots, snapshot_path
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    Producer,
    files_of,
    new_log,
    produce,
    reopened,
    sync,
)

DAY_MS = 86_400_000
FEW, MANY = CHANGED_MAX, 8 * CHANGED_MAX


def log_with(producer_count: int) -> UnifiedLog:
    log = new_log(segment_bytes=1 << 30)
    for producer_id in range(producer_count):
        produce(log, producer=Producer(producer_id, 0, 0))
    return log


def calls_of(action: Callable[[], object]) -> int:
    """How many functions it calls, in Python and in C."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


STEPS: dict[str, Callable[[UnifiedLog], object]] = {
    "checkpoint": lambda log: log.syncing.begin(with_snapshot=True),
    "roll": lambda log: log.roll(NOW),
    "expiry of some": lambda log: next(log.producers.remove_expired(NOW + DAY_MS)),
    "expiry of none": lambda log: next(log.producers.remove_expired(NOW)),
    "what a move takes along": lambda log: log.producers.picture().parts(),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_takes_the_loop_no_longer_when_they_are_many(name: str) -> None:
    few, many = (
        calls_of(partial(STEPS[name], log_with(count))) for count in (FEW, MANY)
    )
    assert many <= few + 10, (few, many)


def test_a_snapshot_is_of_its_offset_whatever_comes_before_it_is_written() -> None:
    log = log_with(FEW)
    ticket = log.syncing.begin(with_snapshot=True)
    assert ticket
    expected = {state.producer_id: state.last_offset for state in log.producers}
    for producer_id in range(0, FEW + 50, 7):
        sequence = int(producer_id < FEW)
        produce(log, producer=Producer(producer_id, 0, sequence))
    for _ in log.producers.remove_expired(NOW + DAY_MS):
        pass
    assert not len(log.producers)
    ticket.run()
    log.syncing.finish(ticket)
    written = files_of(log).content(snapshot_path(DIRECTORY, FEW))
    assert {
        each.producer_id: each.last_offset for each in parse_producers(written)
    } == expected


def test_a_snapshot_beside_a_segment_is_of_its_first_offset() -> None:
    log = log_with(3)
    log.roll(NOW)
    produce(log, producer=Producer(0, 0, 1))
    log.roll(NOW)
    sync(log, with_snapshot=True)
    produce(log, producer=Producer(0, 0, 2))
    files_of(log).power_cut()
    assert list_snapshots(files_of(log), DIRECTORY) == [3, 4]
    for offset, last_offset in ((3, 0), (4, 3)):
        written = files_of(log).content(snapshot_path(DIRECTORY, offset))
        rows = {each.producer_id: each for each in parse_producers(written)}
        assert len(rows) == 3
        assert rows[0].last_offset == last_offset
    again = reopened(log, recovery_point=4)
    assert {each.producer_id: each.last_offset for each in again.producers} == {
        0: 3,
        1: 1,
        2: 2,
    }
