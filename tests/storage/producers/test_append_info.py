"""What an append says of itself."""

from odradek.storage.producers.append_info import AppendInfo


def test_an_append_is_no_duplicate_unless_it_says_so() -> None:
    info = AppendInfo(5, 7, 1000, -1, 0)
    assert not info.is_duplicate
    assert not info.has_rolled
    assert info.last_offset - info.base_offset == 2
