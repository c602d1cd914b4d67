from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.coordinator.share.records import SnapshotRecord
from odradek.broker.coordinator.share.upkeep import (
    COLD_MS,
    cut_below,
    decide_cold_snapshots,
    decide_first_needed,
)
from tests.broker.coordinator.share.rig import KEY, NOW_MS, OTHER, States


def written(states: States) -> list[SnapshotRecord]:
    records = decide_cold_snapshots(states.shard)
    states.apply(records)
    return cast("list[SnapshotRecord]", list(records.records))


def test_what_holds_the_log_is_written_anew() -> None:
    states = States()
    states.begin(0)
    states.begin(3, key=OTHER)
    states.write(3, (5, 6, 2, 1), key=OTHER)
    states.clock.advance(COLD_MS)
    assert written(states) == [], "it holds too little"
    states.begin(0, epoch=2)  # and is new now
    states.write(1)
    states.write(2)
    (record,) = written(states)
    then = NOW_MS + COLD_MS
    assert record == (OTHER, (1, 1, 0, 3, 2, NOW_MS, then, ((5, 6, 2, 1),)), False)
    assert states.told.count(OTHER) == 1, "it goes on"
    assert states.shard.first_needed_offset == 3
    assert states.reload().states[OTHER].stored() == (1, 0, 3, 2, ((5, 6, 2, 1),))


def test_it_rests_until_there_is_more() -> None:
    states = States()
    states.begin(0)
    for offset in range(10):
        states.write(offset)
    assert written(states) == [], "not old enough"
    states.clock.advance(COLD_MS)
    assert [each.key for each in written(states)] == [KEY]
    for _ in range(5):
        states.clock.advance(COLD_MS)
        assert written(states) == []


class FakePartition:
    """A log that begins somewhere."""

    def __init__(self, log_start: int) -> None:
        self.view = SimpleNamespace(log_start_offset=log_start)
        self.log = SimpleNamespace(increment_log_start=self._move)
        self.moves: list[int] = []

    def _move(self, offset: int) -> None:
        self.moves.append(offset)


@pytest.mark.parametrize(("offset", "moves"), [(4, []), (5, []), (9, [9])])
def test_a_log_is_cut_once(offset: int, moves: list[int]) -> None:
    partition: Any = FakePartition(5)
    cut_below(partition, offset)
    assert partition.moves == moves


def test_nothing_is_cut_of_what_was_never_written() -> None:
    partition: Any = FakePartition(0)
    partition.log = None
    cut_below(partition, 3)
    assert partition.moves == []


def test_what_is_needed_is_told_when_it_is_durable() -> None:
    states = States()
    states.begin(0)
    decision = decide_first_needed(states.shard)
    assert (decision.response, decision.reads_state) == (0, True)
