from math import inf

from odradek.broker.upkeep.compaction.cleaning_limits import CleaningLimits


def test_every_round_has_its_share() -> None:
    limits = CleaningLimits(map_size=90, rounds_max=3, bytes_per_second=30.0)
    assert (limits.map_size_of_round, limits.rate_of_round) == (30, 10.0)


def test_the_largest_rate_is_none() -> None:
    limits = CleaningLimits(1, 2, bytes_per_second=1.7976931348623157e308)
    assert limits.rate_of_round == inf
