"""What a commit says of itself: the job, the number of the batch, and all offsets.

It is stored in one step with the files of the batch, and is all that is needed to go
on: the ranges name every partition that the job has ever read, also those that the
batch had nothing of (their range is empty).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_EPOCH = -1


class CommittedRange(NamedTuple):
    """The offsets of a partition from ``start`` up to, and without, ``end``.

    ``topic_id`` tells a topic from a later one of the same name; empty where the
    brokers have no ids. ``leader_epoch`` is that of the record before ``end``, -1
    when there is none.
    """

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str
    leader_epoch: int = NO_EPOCH

    @property
    def place(self) -> TopicPartition:
        """The partition it is a part of."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True)
class Commit:
    """Batch number ``batch`` of job ``job``; ``staged`` names its folder of files."""

    job: str
    batch: int
    ranges: tuple[CommittedRange, ...]
    row_count: int = 0
    dead_letter_count: int = 0
    staged: str = ""
    committed_ms: int = 0

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Where the next batch has to begin."""
        return {each.place: each.end for each in self.ranges}

    def as_json(self) -> str:
        """One line, read back by ``read_commit``."""
        fields = {
            "version": 1,
            "job": self.job,
            "batch": self.batch,
            "rows": self.row_count,
            "dead_letters": self.dead_letter_count,
            "staged": self.staged,
            "committed_ms": self.committed_ms,
            "ranges": [each._asdict() for each in self.ranges],
        }
        return json.dumps(fields, separators=(",", ":"))


def read_commit(text: str) -> Commit:
    """What ``as_json`` wrote.

    Raises:
        ValueError: it is something else.
    """
    return commit_of(json.loads(text))


def commit_of(fields: Mapping[str, object]) -> Commit:
    """A commit out of its JSON object.

    Raises:
        ValueError: it is something else, or of a later version.
    """
    try:
        if fields["version"] != 1:
            raise ValueError(f"commit of version {fields['version']}")
        ranges = fields["ranges"]
        assert isinstance(ranges, list)
        return Commit(
            job=str(fields["job"]),
            batch=_number(fields["batch"]),
            ranges=tuple(CommittedRange(**each) for each in ranges),
            row_count=_number(fields["rows"]),
            dead_letter_count=_number(fields["dead_letters"]),
            staged=str(fields["staged"]),
            committed_ms=_number(fields["committed_ms"]),
        )
    except (KeyError, TypeError, AssertionError) as error:
        raise ValueError(f"no commit of a job: {error}") from error


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a number")
    return value
