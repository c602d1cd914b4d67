import pytest

from odradek.storage.scan.offset_claims import Bounds, Claim, settle

LIMIT = 1 << 31
LOST = -1 << 62  # an offset that cannot be


def settled(
    *offsets: int, end: int | None = None, lost: int = -1, **bounds: bool | int
) -> list[int | None]:
    """Batches of three; bytes before the one at place ``lost`` are gone."""
    claims = [Claim(each, 3, place == lost) for place, each in enumerate(offsets)]
    return settle(claims, Bounds(0, LIMIT, end=end, **bounds))  # type: ignore[arg-type]


def test_batches_that_follow_one_another_are_right() -> None:
    assert settled(0, 3, 6, 9) == [0, 3, 6, 9]
    assert settled() == []


@pytest.mark.parametrize("claimed", [LOST, 0, 4, 7, 40, 1 << 60])
@pytest.mark.parametrize("place", range(5))
def test_one_that_neighbours_contradict_is_put_right(place: int, claimed: int) -> None:
    offsets = [0, 3, 6, 9, 12]
    offsets[place] = claimed
    assert settled(*offsets, end=15) == [0, 3, 6, 9, 12]


def test_neighbours_with_the_same_fault_are_outvoted() -> None:
    assert settled(0, 11, 14, 9, 12, end=15) == [0, 3, 6, 9, 12]


def test_what_is_as_likely_as_its_contrary_is_not_decided() -> None:
    """Two are too high, or the last is too low behind a gap."""
    assert settled(0, 11, 14, 9) == [0, None, None, None]


def test_gaps_without_a_contradiction_are_believed() -> None:
    assert settled(0, 10, 13, 30) == [0, 10, 13, 30]
    assert settled(0, 3, 10) == [0, 3, 10]


def test_a_batch_between_a_gap_and_what_is_lost_is_not() -> None:
    assert settled(0, 4, 12, lost=2) == [0, None, 12]
    assert settled(0, 4, 12, lost=2, has_gaps=True) == [0, 4, 12]


def test_what_is_lost_has_had_an_offset() -> None:
    assert settled(0, 3, 9, end=12, lost=1) == [0, None, 9]
    assert settled(0, 5, 8, end=11, lost=1) == [0, 5, 8]


def test_where_there_may_be_gaps_nothing_is_concluded() -> None:
    assert settled(0, 3, 90, 9, 12, end=15, has_gaps=True) == [0, 3, None, 9, 12]


def test_two_with_a_flipped_bit_each_do_not_outnumber_one_that_is_sound() -> None:
    """8 and 13 may be 0 and 5; for them to be right, two bits of 8 flipped."""
    assert settled(8, 13, 8, 19, has_gaps=True) == [None, None, None, 19]


def test_two_outnumber_one_that_a_single_bit_explains() -> None:
    """12 or 16 may have become 8; or two have a wrong bit each."""
    assert settled(4, 7, 8, 19, has_gaps=True) == [4, 7, None, 19]


def test_an_index_decides_where_neighbours_do_not() -> None:
    claims = [Claim(0, 3), Claim(20, 3, indexed=10), Claim(40, 3)]
    assert settle(claims, Bounds(0, LIMIT, has_gaps=True)) == [0, None, 40]
    claims[1] = Claim(60, 3, indexed=10)
    assert settle(claims, Bounds(0, LIMIT, has_gaps=True)) == [0, 10, 40]


def test_a_gap_that_an_index_denies_does_not_show_compaction() -> None:
    """The gap before the last is none by the index; that before the first is alone."""
    claims = [Claim(2, 3), Claim(2, 3, True, indexed=6), Claim(9, 3)]
    assert settle(claims, Bounds(0, 12, end=12)) == [None, 6, 9]


def test_an_index_that_is_wrong_does_not_matter_where_nothing_is_missing() -> None:
    claims = [Claim(0, 3), Claim(3, 3, indexed=4), Claim(6, 3)]
    assert settle(claims, Bounds(0, LIMIT, end=9)) == [0, 3, 6]


def test_nothing_is_above_the_limit() -> None:
    claims = [Claim(0, 3), Claim(3, 3)]
    assert settle(claims, Bounds(0, 5)) == [0, None]


def test_a_batch_across_the_boundary_is_not_believed() -> None:
    assert settled(0, 3, 11, boundary=9) == [0, 3, None]
    assert settled(0, 3, 8, boundary=9) == [0, 3, None]
    assert settled(0, 3, 9, boundary=9) == [0, 3, 9]


def test_a_checkpoint_that_is_too_low_hides_nothing() -> None:
    for end in (3, 6, 8, 9, 11):
        assert settled(0, 3, 6, 9, end=end) == [0, 3, 6, 9]


def test_a_start_that_is_not_known_is_below() -> None:
    assert settled(30, 33, is_start_known=False) == [30, 33]
    assert settled(30, 7, 36, is_start_known=False) == [30, 33, 36]


def test_what_is_contradicted_behind_a_loss_is_no_gap() -> None:
    """32 and 64 too much, then a loss: two gaps are no sign of compaction there."""
    assert settled(0, 35, 70, 12, lost=3) == [0, None, None, 12]
    assert settled(0, 35, 70, end=9) == [0, 3, 6]


def test_before_a_batch_that_is_where_it_should_be_nothing_was_left_out() -> None:
    """32, 64 and 2^24 too much: three gaps, and what follows contradicts them once."""
    claims = [Claim(offset, 3) for offset in (56, 91, 16_777_246, 33)]
    assert settle(claims, Bounds(24, LIMIT)) == [24, 27, 30, 33]
    assert settled(0, 10, 20, 30, 40) == [0, 10, 20, 30, 40]
