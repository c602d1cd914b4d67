"""Where a job was, from what is left: never before a row of it, never behind a gap."""

import pytest

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.jobs.lost_position import Evidence, check_rows, find_position
from odradek.pipeline.jobs.table_rows import OffsetSpan
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.protocol.topic_partition import TopicPartition

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)
DONE = (6, {ZERO: 70, ONE: 7})
PLANNED = (7, [OffsetRange("t", 0, 70, 80), OffsetRange("t", 1, 7, 7)])


def rows(zero: int, one: int = 0) -> dict[TopicPartition, OffsetSpan]:
    spans = {ZERO: OffsetSpan(0, zero), ONE: OffsetSpan(0, one)}
    return {place: span for place, span in spans.items() if span.end}


def letters(batch: int, start: int, end: int) -> Commit:
    ranges = (
        CommittedRange("t", 0, start, end, "id"),
        CommittedRange("t", 1, 7, 7, "id"),
    )
    return Commit("j", batch, ranges, 1)


@pytest.mark.parametrize(
    ("evidence", "batch", "zero", "one"),
    [
        # What is done is in the table, whatever its owner has deleted since.
        (Evidence(DONE, None, rows(70, 7)), 6, 70, 7),
        (Evidence(DONE, None, rows(1)), 6, 70, 7),
        (Evidence(DONE, None, None), 6, 70, 7),
        # Of what was planned one row tells.
        (Evidence(DONE, PLANNED, rows(70, 7)), 6, 70, 7),
        (Evidence(DONE, PLANNED, rows(71, 7)), 7, 80, 7),
        (Evidence(None, (0, [OffsetRange("t", 0, 5, 9)]), rows(8)), 0, 9, None),
        # A checkpoint that is older than the table, or none.
        (Evidence(DONE, PLANNED, rows(95, 7)), 7, 95, 7),
        (Evidence(DONE, None, rows(95, 9)), 6, 95, 9),
        (Evidence(None, None, rows(95, 9)), 0, 95, 9),
        # The table says its last batch, but not where it ended.
        (Evidence(DONE, PLANNED, rows(70, 7), lost_batch=7), 7, 80, 7),
        (Evidence(DONE, PLANNED, rows(70, 7), lost_batch=6), 6, 70, 7),
        (Evidence(DONE, PLANNED, None, lost_batch=7), 7, 80, 7),
        (Evidence(DONE, PLANNED, {}, lost_batch=6), 6, 70, 7),
        (Evidence(None, None, rows(95, 9), lost_batch=12), 12, 95, 9),
    ],
)
def test_position(evidence: Evidence, batch: int, zero: int, one: int | None) -> None:
    found = find_position(evidence)
    assert found is not None
    assert (found.batch, found.ends.get(ZERO), found.ends.get(ONE)) == (
        batch,
        zero,
        one,
    )
    assert found.half_done is None


@pytest.mark.parametrize("done", [DONE, None])
def test_dead_letters_of_a_batch_that_is_in_the_table(
    done: tuple[int, dict[TopicPartition, int]] | None,
) -> None:
    """They end where it ends; its last rows may be dead letters."""
    evidence = Evidence(done, None, rows(75, 7), letters(9, 70, 80))
    found = find_position(evidence)
    assert found == (9, {ZERO: 80, ONE: 7}, None)


@pytest.mark.parametrize("done", [DONE, None])
def test_dead_letters_of_a_batch_that_is_not(
    done: tuple[int, dict[TopicPartition, int]] | None,
) -> None:
    half = letters(7, 70, 80)
    found = find_position(Evidence(done, None, rows(68, 7), half))
    assert found == (6, {ZERO: 70, ONE: 7}, half)


def test_dead_letters_of_long_ago() -> None:
    found = find_position(Evidence(DONE, None, rows(70, 7), letters(2, 20, 30)))
    assert found == (6, {ZERO: 70, ONE: 7}, None)


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(DONE, PLANNED, {}),  # of a table that is gone
        Evidence(None, None, {}),
        Evidence(None, None, {}, letters(0, 0, 10)),
    ],
)
def test_table_that_has_nothing(evidence: Evidence) -> None:
    assert find_position(evidence) is None


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(DONE, PLANNED, None),
        Evidence(None, None, None),
        Evidence(None, None, None, lost_batch=3),
        Evidence(DONE, None, None, lost_batch=8),
    ],
)
def test_what_cannot_be_known_stops_the_job(evidence: Evidence) -> None:
    with pytest.raises(JobStopped, match="new name, table and checkpoint"):
        find_position(evidence)


@pytest.mark.parametrize(
    ("start", "end", "is_refused"),
    [(0, 10, False), (0, 11, True), (19, 99, True), (20, 99, False), (0, 99, True)],
)
def test_rows_that_a_new_job_would_write_again(
    start: int, end: int, is_refused: bool
) -> None:
    spans = {ZERO: OffsetSpan(10, 20)}
    planned = [OffsetRange("t", 1, 0, 99), OffsetRange("t", 0, start, end)]
    if not is_refused:
        check_rows("x", spans, planned, "try this")
        return
    with pytest.raises(JobStopped, match=r"t-0 from offset 10 up to 20.*try this"):
        check_rows("x", spans, planned, "try this")
