import itertools

from odradek.broker.runtime.histogram import Histogram, exponential


def test_values_are_counted_by_upper_bound() -> None:
    histogram = Histogram([1, 2, 4])
    for value in (0.5, 1, 1.5, 4, 9):
        histogram.observe(value)
    assert list(histogram.cumulative()) == [(1, 2), (2, 3), (4, 4)]
    assert (histogram.count, histogram.total) == (5, 16)


def test_a_quantile_is_the_bound_that_so_many_do_not_exceed() -> None:
    histogram = Histogram([1, 2, 4])
    assert histogram.quantile(0.5) == 0
    for value in (1, 1, 1, 3):
        histogram.observe(value)
    assert (histogram.quantile(0.75), histogram.quantile(0.76)) == (1, 4)
    histogram.observe(100)
    assert histogram.quantile(1) == 4  # nothing larger is known


def test_exponential_bounds_reach_the_last() -> None:
    assert exponential(1, 8) == [1, 2, 4, 8]
    bounds = exponential(0.001, 1, 2)
    assert bounds[0] == 0.001
    assert bounds[-1] >= 1
    assert all(1.4 < b / a < 1.42 for a, b in itertools.pairwise(bounds))


def test_what_was_observed_comes_to_count_half() -> None:
    histogram = Histogram([1, 2])
    for value in (1, 1, 1, 2, 2):
        histogram.observe(value)
    histogram.halve()
    assert histogram.counts == [1, 1, 0]
    assert histogram.total == 3.5
