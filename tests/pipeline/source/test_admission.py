from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.source.admission import Gate, limited
from odradek.protocol.topic_partition import TopicPartition

PLACES = [TopicPartition("t", number) for number in range(4)]


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=4),
    st.integers(1, 2000),
)
def test_the_limit_is_kept_and_used(sizes: list[int], most: int) -> None:
    starts = dict.fromkeys(PLACES[: len(sizes)], 5)
    ends = {place: 5 + size for place, size in zip(starts, sizes, strict=True)}
    chosen = limited(starts, ends, most)
    assert all(starts[place] <= chosen[place] <= ends[place] for place in ends)
    assert sum(chosen.values()) - 5 * len(sizes) == min(most, sum(sizes))


def test_all_partitions_come_to_their_end() -> None:
    starts = dict.fromkeys(PLACES, 0)
    ends = dict(zip(PLACES, (1000, 10, 1, 0), strict=True))
    for _ in range(1011):
        before, starts = starts, limited(starts, ends, 1)
        assert sum(starts.values()) == sum(before.values()) + 1
    assert starts == ends


def test_a_long_partition_lets_no_short_one_wait() -> None:
    starts = dict.fromkeys(PLACES, 0)
    ends = dict(zip(PLACES, (10**6, 1, 1, 0), strict=True))
    assert limited(starts, ends, 3) == dict(zip(PLACES, (1, 1, 1, 0), strict=True))


def test_a_log_that_ends_earlier_now_takes_nothing_from_the_others() -> None:
    starts = {PLACES[0]: 100, PLACES[1]: 0}
    ends = {PLACES[0]: 50, PLACES[1]: 40}
    assert limited(starts, ends, 10) == {PLACES[0]: 100, PLACES[1]: 10}


def test_a_gate_waits_for_enough_or_long_enough() -> None:
    now = 0.0
    gate = Gate(10_000, lambda: now)
    assert gate.opens(1, 5)  # a query that has just begun waits for nothing
    now = 3
    assert not gate.opens(4, 5)
    assert gate.opens(5, 5)
    now = 12.9
    assert not gate.opens(4, 5)
    now = 13
    assert gate.opens(0, 5)
