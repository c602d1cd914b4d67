"""Dead letters keep their records; a job that mostly fails is stopped."""

import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import TooManyDeadLetters
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.values.dead_letters import DeadLetterLimit, dead_letter_schema

REASON = "t-0 at offset 5: nope"


def test_columns_are_those_of_the_record_and_the_reason() -> None:
    records = RecordColumns.of(include_headers=True).arrow_schema()
    schema = dead_letter_schema(records)
    assert schema.names[-2:] == ["headers", "reason"]
    assert schema.field("value").type == pa.binary()
    few = RecordColumns.of(include_headers=False).arrow_schema()
    assert "headers" not in dead_letter_schema(few).names


def test_one_bad_record_stops_nothing() -> None:
    limit = DeadLetterLimit(0.5)
    limit.add(0, 1, REASON)
    limit.add(98, 0, REASON)
    for _ in range(1000):
        limit.add(2, 1, REASON)


def test_mostly_bad_records_stop_the_job() -> None:
    limit = DeadLetterLimit(0.5)
    limit.add(40, 50, REASON)
    with pytest.raises(TooManyDeadLetters, match=REASON):
        limit.add(0, 20, REASON)


def test_good_times_long_ago_do_not_count_for_ever() -> None:
    limit = DeadLetterLimit(0.5)
    for _ in range(100):
        limit.add(100_000, 0, REASON)
    limit.add(0, 50_000, REASON)
    with pytest.raises(TooManyDeadLetters):
        limit.add(0, 100_000, REASON)


def test_zero_allows_none() -> None:
    with pytest.raises(TooManyDeadLetters):
        DeadLetterLimit(0).add(99, 1, REASON)
