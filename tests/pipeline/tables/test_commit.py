"""What a commit says of itself, written and read back."""

import pytest

from odradek.pipeline.tables.commit import Commit, CommittedRange, read_commit
from odradek.protocol.topic_partition import TopicPartition

COMMIT = Commit(
    "job",
    7,
    (CommittedRange("t", 0, 5, 9, "id", 3), CommittedRange("ü", 1, 2, 2, "")),
    row_count=4,
    dead_letter_count=1,
    staged="folder",
    committed_ms=123,
)


def test_round_trip() -> None:
    assert read_commit(COMMIT.as_json()) == COMMIT
    assert "\n" not in COMMIT.as_json()


def test_ends() -> None:
    assert COMMIT.ends == {TopicPartition("t", 0): 9, TopicPartition("ü", 1): 2}


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", '{"version": 2}', COMMIT.as_json().replace("7", '"7"'), "nonsense"],
)
def test_something_else_is_no_commit(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_commit(text)
