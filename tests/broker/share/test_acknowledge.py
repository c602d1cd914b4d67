from typing import Any

import pytest

from odradek.broker.share.acknowledge import (
    Acknowledged,
    by_type,
    check_held,
    check_said,
)
from odradek.broker.share.in_flight import InFlight, Range
from odradek.broker.share.record_states import RecordState
from odradek.protocol.errors import InvalidRecordState, InvalidRequest

HAD, DONE = RecordState.ACQUIRED, RecordState.ACKNOWLEDGED


@pytest.mark.parametrize(
    "said",
    [
        [(3, 2, [1])],
        [(0, 3, [1]), (3, 4, [1])],
        [(5, 6, [1]), (0, 1, [1])],
        [(0, 3, [])],
        [(0, 3, [1, 1])],
        [(0, 0, [1, 1])],
        [(0, 3, [5])],
        [(0, 3, [-1])],
        [(0, 3, [4])],
        [(-2, -1, [1])],
    ],
)
def test_what_makes_no_sense(said: Any) -> None:
    with pytest.raises(InvalidRequest):
        check_said([Acknowledged(*each) for each in said], may_renew=False)


def test_what_makes_sense() -> None:
    said = [Acknowledged(0, 1 << 40, [1]), Acknowledged(1 << 41, 1 << 41, [0])]
    check_said(said, may_renew=False)
    check_said([Acknowledged(0, 2, [1, 4, 4])], may_renew=True)
    check_said([], may_renew=False)


def in_flight(*ranges: tuple[int, int, RecordState, str]) -> InFlight:
    made = InFlight()
    for first, last, state, member_id in ranges:
        made.add(Range(first, last, state, 1, member_id))
    return made


def check(first: int, last: int, member_id: str = "a", start: int = 0) -> None:
    known = in_flight((0, 4, HAD, "a"), (5, 6, DONE, ""), (8, 9, HAD, "a"))
    check_held(known, start, member_id, [Acknowledged(first, last, [1])])


def test_a_member_has_what_it_acknowledges() -> None:
    check(0, 4)
    check(2, 3)
    check(8, 9)
    check(0, 2, start=3)
    check(0, 3, start=3)


@pytest.mark.parametrize(
    ("first", "last", "member_id"),
    [(0, 5, "a"), (0, 1, "b"), (5, 5, "a"), (7, 7, "a"), (7, 8, "a"), (4, 8, "a")],
)
def test_who_does_not_have_it(first: int, last: int, member_id: str) -> None:
    with pytest.raises(InvalidRecordState):
        check(first, last, member_id)


def test_what_was_not_handed_out() -> None:
    for first, last in [(8, 10), (20, 20)]:
        with pytest.raises(InvalidRequest, match="were not handed out"):
            check(first, last)
    with pytest.raises(InvalidRequest):
        check_held(InFlight(), 3, "a", [Acknowledged(2, 3, [1])])
    check_held(InFlight(), 3, "a", [Acknowledged(1, 2, [1])])


def test_what_waits_for_the_disk_is_not_acknowledged_twice() -> None:
    known = in_flight((0, 4, HAD, "a"))
    for each in known.within(1, 2):
        each.update = 7
    with pytest.raises(InvalidRecordState):
        check_held(known, 0, "a", [Acknowledged(0, 1, [1])])


def test_types_in_a_row_go_together() -> None:
    assert list(by_type(Acknowledged(3, 9, [1]))) == [(3, 9, 1)]
    assert list(by_type(Acknowledged(3, 7, [1, 1, 2, 3, 3]))) == [
        (3, 4, 1),
        (5, 5, 2),
        (6, 7, 3),
    ]
