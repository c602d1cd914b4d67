import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.producers.growing_map import SPLIT_LENGTH, GrowingMap


@pytest.mark.parametrize("first_count", [0, SPLIT_LENGTH - 2])
@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.integers(SPLIT_LENGTH - 9, SPLIT_LENGTH + 9))
    )
)
def test_it_is_a_dict(steps: list[tuple[bool, int]], first_count: int) -> None:
    tried, plain = GrowingMap[int](), dict[int, int]()
    for key in range(first_count):
        tried.put(key, key)
        plain[key] = key
    for number, (is_put, key) in enumerate(steps):
        if is_put:
            tried.put(key, number)
            plain[key] = number
        else:
            assert tried.pop(key) == plain.pop(key, None)
        assert tried.get(key) == tried.part(key).get(key) == plain.get(key)
        assert len(tried) == len(plain)


def test_none_of_its_dicts_is_large() -> None:
    """Ids of producers are given one after the other."""
    tried = GrowingMap[int]()
    for key in range(100_000):
        tried.put(key, key)
    assert max(len(tried.part(key)) for key in range(256)) < SPLIT_LENGTH
    assert [tried.get(key) for key in (0, SPLIT_LENGTH, 99_999)] == [
        0,
        SPLIT_LENGTH,
        99_999,
    ]
