"""Rows of producers against a dict; and pictures, which never change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.formats.producer_entry import ProducerEntry, parse_producers
from odradek.storage.producers.table import PIECE_LENGTH, ProducerPicture, ProducerTable

# Enough that rows move between pieces.
PRODUCERS = PIECE_LENGTH + 3
IDS = st.integers(0, PRODUCERS - 1)


def entry(producer_id: int, offset: int) -> ProducerEntry:
    return ProducerEntry(producer_id, 0, offset, offset, 0, 1000, -1, -1)


def by_id(picture: ProducerPicture) -> dict[int, ProducerEntry]:
    entries = parse_producers(picture.encode())
    found = {each.producer_id: each for each in entries}
    assert len(found) == len(entries)
    return found


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "remove", "picture"]), IDS), max_size=30
    ),
    st.sampled_from([0, 1, PIECE_LENGTH - 1, PIECE_LENGTH, PRODUCERS]),
)
def test_a_picture_is_what_the_table_was(
    steps: list[tuple[str, int]], first_count: int
) -> None:
    table = ProducerTable()
    expected = {each: entry(each, 0) for each in range(first_count)}
    for each in expected.values():
        table.put(each)
    taken = []
    for number, (kind, producer_id) in enumerate(steps, 1):
        if kind == "put":
            expected[producer_id] = entry(producer_id, number)
            table.put(expected[producer_id])
        elif kind == "remove" and expected.pop(producer_id, None):
            table.remove(producer_id)
        elif kind == "picture":
            taken.append((table.picture(), dict(expected)))
        assert table.get(producer_id) == expected.get(producer_id)
    assert len(table) == len(expected)
    for picture, then in (*taken, (table.picture(), expected)):
        assert by_id(picture) == then


@pytest.mark.parametrize("count", [0, 1, PIECE_LENGTH, 600 * PIECE_LENGTH + 1])
def test_the_parts_of_a_picture_are_a_snapshot(count: int) -> None:
    table = ProducerTable()
    for producer_id in range(count):
        table.put(entry(producer_id, producer_id))
    picture = table.picture()
    parts = list(picture.parts())
    assert len(parts) == (1 if count <= PIECE_LENGTH else 2)
    assert parse_producers(b"".join(parts)) == [
        entry(producer_id, producer_id) for producer_id in range(count)
    ]


def test_changes_behind_a_picture_copy_what_they_change_alone() -> None:
    table = ProducerTable()
    for producer_id in range(3 * PIECE_LENGTH):
        table.put(entry(producer_id, 0))
    before = table.picture().pieces
    for offset in (1, 2):
        table.put(entry(PIECE_LENGTH, offset))
    after = table.picture().pieces
    are_same = [one is other for one, other in zip(before, after, strict=True)]
    assert are_same == [True, False, True]
