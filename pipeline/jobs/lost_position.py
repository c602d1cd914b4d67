"""Where a job is, when its table has lost that: found again from what is left.

Spark's checkpoint says which batch was done, and what the next one was to be; the
table's rows say which offsets they came from; the dead letters, which are committed
first, have a commit of their own. A batch is in the table as a whole or not at all: one
row of it says that all of it is. Nothing that is guessed leads to a record written
twice; what cannot be known stops the job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.tables.staging import is_of_job

from .table_rows import offset_columns, offset_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.pipeline.records.offset_range import OffsetRange
    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.table import Table
    from odradek.pipeline.values.decoding import ValueFormat
    from odradek.protocol.topic_partition import TopicPartition

    from .table_rows import OffsetSpan

OWN_TABLE = (
    "give the job a new name, table and checkpoint, and say with starting_offsets "
    "where it goes on"
)


@dataclass(frozen=True)
class Evidence:
    """What is left.

    ``done`` and ``planned`` are of the checkpoint, number and offsets; ``planned`` is
    the batch behind ``done``, if Spark had begun it. ``rows`` is None where they have
    no offsets. ``lost_batch`` is a batch that the table has, of unknown offsets.
    """

    done: tuple[int, Mapping[TopicPartition, int]] | None
    planned: tuple[int, Sequence[OffsetRange]] | None
    rows: Mapping[TopicPartition, OffsetSpan] | None
    letters: Commit | None = None
    lost_batch: int | None = None


class FoundPosition(NamedTuple):
    """The last batch and where it ended, and the one whose dead letters are there."""

    batch: int
    ends: dict[TopicPartition, int]
    half_done: Commit | None


def find_position(evidence: Evidence) -> FoundPosition | None:
    """Where the table ends; None if it has nothing of the job.

    Raises:
        JobStopped: what is left does not say it.
    """
    rows, lost = evidence.rows, evidence.lost_batch
    if rows is not None and not rows and lost is None:
        return None  # whatever the checkpoint says, it is of another table
    number, ends = evidence.done or (-1, {})
    ends = dict(ends)
    if evidence.planned is not None and _is_written(evidence):
        number = evidence.planned[0]
        ends |= {each.place: each.end for each in evidence.planned[1]}
    if rows is None and number < max(lost or 0, 0):
        raise JobStopped(
            "the table's columns do not say which offsets its rows came from, and the "
            f"checkpoint does not know all of them: {OWN_TABLE}"
        )
    ends = _later(ends, {place: span.end for place, span in (rows or {}).items()})
    number = max(number, -1 if lost is None else lost)
    letters = evidence.letters
    if letters is None or letters.batch <= number:
        return FoundPosition(max(number, 0), ends, None)
    if any(ends.get(each.place, 0) > each.start for each in letters.ranges):
        return FoundPosition(letters.batch, _later(ends, letters.ends), None)
    if letters.batch == 0:
        return None
    starts = {each.place: each.start for each in letters.ranges}
    return FoundPosition(letters.batch - 1, ends | starts, letters)


def _later(
    ends: Mapping[TopicPartition, int], others: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    return {**ends, **{p: max(ends.get(p, 0), end) for p, end in others.items()}}


def _is_written(evidence: Evidence) -> bool:
    """Whether the table has the batch that was planned."""
    assert evidence.planned is not None
    number, ranges = evidence.planned
    if evidence.lost_batch is not None:
        return evidence.lost_batch >= number
    rows = evidence.rows
    if rows is None:
        raise JobStopped(
            f"Spark had begun batch {number}, and the table's columns do not say "
            f"whether its rows are there: {OWN_TABLE}"
        )
    return any(
        each.count > 0 and each.place in rows and rows[each.place].end > each.start
        for each in ranges
    )


def check_nothing_twice(
    table: Table,
    job: str,
    value: ValueFormat,
    planned: Sequence[OffsetRange],
    instead: str,
) -> None:
    """A job without a commit writes no record that the table has already.

    ``instead`` says what to do.

    Raises:
        JobStopped: it would, or nobody can know.
    """
    files = table.files()
    rows = offset_spans(files, offset_columns(value), table.open)
    if rows is not None:
        check_rows(table.location, rows, planned, instead)
    elif table.is_of_one_job or any(is_of_job(path, job) for path in files):
        raise JobStopped(
            f"the table {table.location} has rows that this job wrote, no commit of "
            f"it, and no columns that say which offsets they came from: {OWN_TABLE}"
        )


def check_rows(
    location: object,
    rows: Mapping[TopicPartition, OffsetSpan],
    planned: Sequence[OffsetRange],
    instead: str,
) -> None:
    """The rows are of no offset that is planned.

    Raises:
        JobStopped: some are; ``instead`` says what to do.
    """
    for each in planned:
        span = rows.get(each.place)
        if span is not None and span.end > each.start and span.first < each.end:
            raise JobStopped(
                f"the table {location} has rows of {each.place} from offset "
                f"{span.first} up to {span.end}, and no commit of this job, which "
                f"would begin at {each.start}: they would be written again. {instead}"
            )
