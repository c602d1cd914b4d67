import pytest

from odradek.storage.values.offset_metadata import OffsetMetadata


def test_position_diff_counts_bytes() -> None:
    assert OffsetMetadata(9, 0, 500).position_diff(OffsetMetadata(5, 0, 200)) == 300


def test_position_diff_needs_one_segment() -> None:
    with pytest.raises(AssertionError):
        OffsetMetadata(9, 5, 500).position_diff(OffsetMetadata(5, 0, 200))


def test_older_and_same_segment() -> None:
    old, new = OffsetMetadata(3, 0, 10), OffsetMetadata(3, 3, 0)
    assert old.on_older_segment(new)
    assert not new.on_older_segment(old)
    assert not old.on_same_segment(new)
    assert old.on_same_segment(OffsetMetadata(0, 0, 0))


def test_unknown_places_compare_as_neither() -> None:
    known, unknown = OffsetMetadata(3, 3, 0), OffsetMetadata(3)
    assert unknown.is_message_only
    assert not known.is_message_only
    assert not unknown.on_older_segment(known)
    assert not known.on_older_segment(unknown)
    assert not unknown.on_same_segment(unknown)
