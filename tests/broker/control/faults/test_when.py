"""Which of the requests that match are hit: T336."""

from typing import Any

import pytest

from odradek.broker.control.faults.when import When
from odradek.broker.operate.admin_socket import AdminError


def hits(count: int = 12, **given: Any) -> list[int]:
    when = When.of(given)
    return [number for number in range(count) if when.hits()]


def test_after_so_many_so_often_and_each_so_many() -> None:
    """T336: the third alone."""
    assert hits(skip=2, times=1) == [2]
    assert hits(5) == [0, 1, 2, 3, 4]
    assert hits(every=4) == [3, 7, 11]
    assert hits(skip=1, every=4, times=2) == [4, 8]


def test_a_seed_repeats_its_sequence() -> None:
    """T336"""
    first = hits(200, probability=0.3, seed=7)
    assert first == hits(200, probability=0.3, seed=7)
    assert first != hits(200, probability=0.3, seed=8)
    assert 20 < len(first) < 110
    assert hits(probability=0.0) == []


def test_without_a_seed_it_says_which_it_took() -> None:
    when = When.of({"probability": 0.5})
    again = When.of({"probability": 0.5, "seed": when.seed})
    assert [when.hits() for _ in range(99)] == [again.hits() for _ in range(99)]


def test_one_that_is_used_up_hits_nothing_more() -> None:
    when = When(times=2)
    assert when.left == 2
    when.use_up()
    assert when.is_used_up
    assert not when.hits()


@pytest.mark.parametrize(
    "given",
    [{"probability": 1.1}, {"probability": -0.1}, {"times": 0}, {"skip": -1}]
    + [{"every": 0}, {"time": 1}],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(AdminError):
        When.of(given)
