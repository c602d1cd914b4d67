import pytest

from odradek.broker.share.in_flight import InFlight, Range
from odradek.broker.share.record_states import RecordState

FREE, HAD = RecordState.AVAILABLE, RecordState.ACQUIRED


def in_flight(*ranges: tuple[int, int, RecordState]) -> InFlight:
    made = InFlight()
    for first, last, state in ranges:
        made.add(Range(first, last, state, 1))
    return made


def places(ranges: object) -> list[tuple[int, int]]:
    return [(each.first, each.last) for each in ranges]  # type: ignore[attr-defined]


def test_ranges_are_in_order_wherever_they_are_put() -> None:
    made = in_flight((5, 9, FREE), (0, 2, FREE), (3, 4, HAD))
    assert places(made) == [(0, 2), (3, 4), (5, 9)]
    assert (len(made), made.last) == (3, 9)
    for first, last in [(2, 2), (9, 12), (4, 6)]:
        with pytest.raises(AssertionError):
            made.add(Range(first, last, FREE, 1))
    assert InFlight().last is None


def test_what_is_asked_for_is_cut_out() -> None:
    made = in_flight((0, 9, FREE), (20, 29, HAD))
    assert places(made.within(3, 24)) == [(3, 9), (20, 24)]
    assert places(made) == [(0, 2), (3, 9), (20, 24), (25, 29)]
    assert made.within(10, 19) == []


def test_what_ends_at_an_offset_or_behind_it() -> None:
    made = in_flight((0, 9, FREE), (20, 29, HAD), (30, 30, FREE))
    assert places(made.since(0)) == [(0, 9), (20, 29), (30, 30)]
    assert places(made.since(9)) == [(0, 9), (20, 29), (30, 30)]
    assert places(made.since(10)) == [(20, 29), (30, 30)]
    assert places(made.since(30)) == [(30, 30)]
    assert places(made.since(31)) == []


def test_what_is_below_is_forgotten() -> None:
    made = in_flight((0, 9, FREE), (20, 29, HAD))
    made.drop_below(5)
    assert places(made) == [(5, 9), (20, 29)]
    made.drop_below(20)
    assert places(made) == [(20, 29)]
    made.drop_below(100)
    assert len(made) == 0


def test_neighbours_that_are_alike_are_one() -> None:
    made = in_flight((0, 4, FREE), (5, 9, FREE), (10, 11, HAD), (13, 14, HAD))
    made.join_neighbours()
    assert places(made) == [(0, 9), (10, 11), (13, 14)]


def test_a_range_knows_what_it_will_be() -> None:
    each = Range(0, 4, HAD, 1)
    assert (each.size, each.state_then) == (5, HAD)
    each.after = RecordState.ACKNOWLEDGED
    assert each.state_then is RecordState.ACKNOWLEDGED
