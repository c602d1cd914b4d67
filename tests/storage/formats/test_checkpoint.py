import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.formats.checkpoint import (
    CheckpointError,
    EpochEntry,
    format_epochs,
    format_offsets,
    parse_epochs,
    parse_offsets,
)

topics = st.text("abcXYZ0189._-", min_size=1, max_size=20)
partitions = st.builds(TopicPartition, topics, st.integers(0, 1000))


def test_offsets_as_text() -> None:
    offsets = {TopicPartition("plain", 0): 200, TopicPartition("a.b-c", 12): 0}
    assert format_offsets(offsets) == "0\n2\nplain 0 200\na.b-c 12 0\n"


def test_epochs_as_text() -> None:
    assert format_epochs([EpochEntry(0, 0), EpochEntry(2, 5)]) == "0\n2\n0 0\n2 5\n"


@given(st.dictionaries(partitions, st.integers(0, 2**63 - 1)))
def test_offsets_round_trip(offsets: dict[TopicPartition, int]) -> None:
    assert parse_offsets(format_offsets(offsets)) == offsets


@pytest.mark.parametrize("text", ["", "0\n0\n", "0\n0"])
def test_both_forms_of_nothing_are_read(text: str) -> None:
    assert parse_offsets(text) == {}
    assert parse_epochs(text) == []


def test_fields_are_split_at_any_whitespace() -> None:
    assert parse_epochs("0\n2\n0\t0\n 2   5 \n") == [EpochEntry(0, 0), EpochEntry(2, 5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n0\n", "line 1"),
        ("\n", "line 1"),
        ("0\n", "line 2"),
        ("0\nmany\n", "line 2"),
        ("0\n2\nt 0 1\n", "line 2: 2 entries announced, 1 present"),
        ("0\n1\nt 0 1\nt 1 1\n", "line 2: 1 entries announced, 2 present"),
        ("0\n2\nt 0 1\nt 1\n", "line 4"),
        ("0\n1\nt 0 x\n", "line 3"),
        ("0\n1\nt 0 1 2\n", "line 3"),
    ],
)
def test_malformed_checkpoint_names_the_line(text: str, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        parse_offsets(text)
