"""Batches over batches, beside a plain dictionary of offsets."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.share.merge import finished_count, merge
from odradek.broker.coordinator.share.state import StateBatch

_batches = st.builds(
    lambda first, size, state, count: StateBatch(first, first + size, state, count),
    st.integers(0, 30),
    st.integers(0, 9),
    st.sampled_from([0, 2, 4]),
    st.integers(1, 2),
)


def plain(batches: list[StateBatch], start: int) -> dict[int, tuple[int, int]]:
    """The state of each offset; the later batch wins."""
    return {
        offset: (each.state, each.delivery_count)
        for each in batches
        for offset in range(each.first, each.last + 1)
        if offset >= start
    }


def spread(batches: list[StateBatch]) -> dict[int, tuple[int, int]]:
    """As `plain`; no offset may be in two batches."""
    found: dict[int, tuple[int, int]] = {}
    for each in batches:
        assert each.first <= each.last
        for offset in range(each.first, each.last + 1):
            assert offset not in found
            found[offset] = (each.state, each.delivery_count)
    return found


@given(
    st.lists(st.tuples(st.lists(_batches, max_size=4), st.integers(-1, 12)), max_size=8)
)
def test_the_later_wins_and_below_the_start_is_nothing(
    updates: list[tuple[list[StateBatch], int]],
) -> None:
    known: list[StateBatch] = []
    written: list[StateBatch] = []
    start = -1
    for newer, moved in updates:
        start = max(start, moved)
        known = merge(known, newer, start)
        written += newer
        assert spread(known) == plain(written, start)
        assert known == sorted(known)
        for left, right in pairwise(known):
            is_next = left.last + 1 == right.first
            assert not (is_next and left[2:] == right[2:]), "they should be one"


@given(st.integers(1, 60), st.integers(1, 60), st.randoms(use_true_random=False))
def test_many_over_many(known: int, newer: int, draw: random.Random) -> None:
    def ordered(count: int) -> list[StateBatch]:
        cuts = sorted(draw.sample(range(200), 2 * count))
        return [
            StateBatch(first, last, draw.choice((0, 2, 4)), 1)
            for first, last in zip(cuts[::2], cuts[1::2], strict=True)
        ]

    under, over = merge((), ordered(known), -1), ordered(newer)
    start = draw.randrange(50)
    merged = merge(under, over, start)
    assert spread(merged) == plain([*under, *over], start)
    assert merged == sorted(merged)


def test_finished_is_what_was_accepted_or_archived() -> None:
    batches = [
        StateBatch(0, 4, 2, 1),
        StateBatch(5, 5, 0, 1),
        StateBatch(9, 9, 4, 5),
    ]
    assert finished_count(batches) == 6
    assert finished_count([]) == 0
    assert finished_count([StateBatch(0, 1 << 40, 2, 1)]) == (1 << 31) - 1


def test_what_is_known_is_left_as_it_is() -> None:
    known = [StateBatch(0, 9, 0, 1)]
    assert merge(known, [StateBatch(3, 4, 2, 1)], 1) == [
        (1, 2, 0, 1),
        (3, 4, 2, 1),
        (5, 9, 0, 1),
    ]
    assert known == [(0, 9, 0, 1)]
