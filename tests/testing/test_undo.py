import pytest

from odradek.testing.undo import Undo


def test_it_is_undone_at_the_end_of_the_block_also_behind_an_error() -> None:
    undone: list[int] = []
    with Undo(lambda: undone.append(1)):
        assert undone == []
    assert undone == [1]
    with pytest.raises(ZeroDivisionError), Undo(lambda: undone.append(2)):
        raise ZeroDivisionError
    assert undone == [1, 2]
