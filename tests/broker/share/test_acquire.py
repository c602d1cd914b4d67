from typing import Any

import pytest

from odradek.broker.share.acquire import Acquired, Acquisition, Limits, Taking, holes
from odradek.broker.share.in_flight import InFlight, Range
from odradek.broker.share.record_states import RecordState

FREE, HAD = RecordState.AVAILABLE, RecordState.ACQUIRED
THREES = [(0, 2), (3, 5), (6, 8), (9, 11)]


def acquire(
    *known: tuple[int, int, RecordState, int],
    batches: Any = THREES,
    records_max: int = 100,
    limits: Limits | None = None,
    start: int = 0,
    **fields: Any,
) -> list[Acquired]:
    in_flight = InFlight()
    for first, last, state, count in known:
        in_flight.add(Range(first, last, state, count))
    taking = Taking("a", records_max, 1000, **fields)
    return Acquisition(in_flight, start, limits or Limits(), taking, batches).run()


def test_nothing_was_read() -> None:
    assert acquire(batches=[]) == []
    assert acquire(records_max=0) == []


def test_what_is_in_a_row_is_one_range() -> None:
    assert acquire() == [(0, 11, 1)]
    assert acquire(start=4) == [(4, 11, 1)]
    assert acquire((2, 3, HAD, 1)) == [(0, 1, 1), (4, 11, 1)]
    assert acquire((2, 3, FREE, 1), (4, 4, FREE, 1)) == [
        (0, 1, 1),
        (2, 4, 2),
        (5, 11, 1),
    ]


@pytest.mark.parametrize(
    ("batch_size", "given"),
    [
        (12, [(0, 11, 1)]),
        (4, [(0, 5, 1), (6, 11, 1)]),
        (7, [(0, 8, 1), (9, 11, 1)]),
        (1, [(0, 2, 1), (3, 5, 1), (6, 8, 1), (9, 11, 1)]),
    ],
)
def test_ranges_are_cut_where_batches_end(batch_size: int, given: Any) -> None:
    assert acquire(batch_size=batch_size) == given
    assert acquire(batch_size=batch_size, is_exact=True) == [(0, 11, 1)]


def test_as_many_as_are_wanted_and_the_rest_of_the_batch() -> None:
    assert acquire(records_max=4) == [(0, 5, 1)]
    assert acquire(records_max=4, is_exact=True) == [(0, 3, 1)]
    assert acquire((1, 1, HAD, 1), records_max=2) == [(0, 0, 1), (2, 2, 1)]


def test_no_more_locks_than_there_may_be() -> None:
    limits = Limits(locks_max=4)
    assert acquire(limits=limits) == [(0, 5, 1)]
    assert acquire(limits=limits, is_exact=True) == [(0, 3, 1)]
    assert acquire((0, 3, HAD, 1), limits=limits) == []
    among = acquire((0, 0, HAD, 1), (1, 1, FREE, 1), (2, 3, HAD, 1), limits=limits)
    assert among == [(1, 1, 2)]


def test_suspects_are_given_alone_and_half_of_them() -> None:
    known = [(0, 7, FREE, 3)]
    assert acquire(*known) == [(0, 3, 4)]
    assert acquire(*known, records_max=2, is_exact=True) == [(0, 1, 4)]
    assert acquire((3, 8, FREE, 3)) == [(0, 2, 1)], "not with others"


def test_on_its_last_try_a_record_is_alone() -> None:
    assert acquire((0, 5, FREE, 4)) == [(0, 0, 5)]
    assert acquire((0, 0, FREE, 1), (1, 5, FREE, 4)) == [(0, 0, 2)]
    two = Limits(count_max=2)
    assert acquire((0, 5, FREE, 1), limits=two) == [(0, 5, 2), (6, 11, 1)]


def test_a_range_knows_its_size() -> None:
    assert Acquired(3, 5, 1).size == 3


def test_what_compaction_took() -> None:
    assert list(holes(0, [(0, 4), (5, 9)])) == []
    assert list(holes(0, [(3, 4), (8, 9)])) == [(0, 2), (5, 7)]
    assert list(holes(7, [(5, 9), (12, 12)])) == [(10, 11)]
