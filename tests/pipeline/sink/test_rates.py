"""How fast, and when it is done: from commits and offsets alone."""

import pytest

from odradek.pipeline.sink.rates import (
    ARRIVAL_MS,
    WINDOW_MS,
    Rates,
    Writing,
    arriving_per_s,
    duration,
    rate_lines,
    rates_of,
    writing_of,
)
from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.protocol.topic_partition import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def commit(batch: int, committed_ms: int, *ends: int) -> Commit:
    ranges = tuple(CommittedRange("t", n, 0, end, "id") for n, end in enumerate(ends))
    return Commit("j", batch, ranges, committed_ms=committed_ms)


def test_what_is_written() -> None:
    commits = [
        commit(3, 14_000, 500, 50),
        commit(2, 12_000, 400, 50),
        commit(1, 10_000, 100),
    ]
    found = writing_of(commits)
    assert found == Writing(2, 4.0, 450, 350)
    assert found is not None
    assert found.per_s == 112.5


def test_what_says_nothing_of_now() -> None:
    newest = commit(3, WINDOW_MS + 2, 900)
    assert writing_of([]) is None
    assert writing_of([newest]) is None
    assert writing_of([newest, commit(2, 1, 100)]) is None
    assert writing_of([newest, commit(2, WINDOW_MS + 2, 100)]) is None  # of no time
    assert writing_of([newest, commit(2, WINDOW_MS, 800), commit(1, 0, 0)]) == Writing(
        1, 0.002, 100, 100
    )


def test_what_arrives() -> None:
    ends = {A: 1000, B: 70}
    assert arriving_per_s(ends, {}) == 0
    assert arriving_per_s(ends, {A: 400}) == 600 * 1000 / ARRIVAL_MS
    assert arriving_per_s(ends, {A: 400, B: 80}) == 10


WRITING = Writing(5, 10, 1000, 300)  # 100 a second


@pytest.mark.parametrize(
    ("writing", "arriving", "lag", "eta_s", "keeps_up"),
    [
        (WRITING, 10, 9000, 100, False),
        (WRITING, 100, 9000, None, False),
        (WRITING, 150, 9000, None, False),
        (WRITING, 150, 200, 2, True),
        (WRITING, None, None, None, False),
        (WRITING, None, 9000, 90, False),
        (None, 10, 9000, None, False),
        (None, 0, 0, 0, True),
        (Writing(5, 10, 0, 0), 0, 10, None, False),
    ],
)
def test_when_it_has_caught_up(
    writing: Writing | None,
    arriving: float | None,
    lag: int | None,
    eta_s: float | None,
    keeps_up: bool,
) -> None:
    found = rates_of(writing, arriving, lag, 1500)
    assert (found.eta_s, found.keeps_up, found.idle_s) == (eta_s, keeps_up, 1.5)


@pytest.mark.parametrize(
    ("rates", "lag", "lines"),
    [
        (
            rates_of(WRITING, 10, 9000, 0),
            9000,
            [
                "written 100 records/s over the last 5 batches; arriving 10 records/s"
                " in the last minute",
                "caught up in 2 min, if all goes on so",
            ],
        ),
        (
            rates_of(WRITING, 100.5, 9000, 0),
            9000,
            [
                "written 100 records/s over the last 5 batches; arriving 100 records/s"
                " in the last minute",
                "it does not catch up, if all goes on so",
            ],
        ),
        (
            rates_of(None, 0.25, 0, 10**9),
            0,
            [
                "arriving 0.25 records/s in the last minute",
                "the table has all that there is",
            ],
        ),
        (
            rates_of(WRITING._replace(batches=1), None, None, 0),
            None,
            ["written 100 records/s over the last batch"],
        ),
        (
            rates_of(WRITING, 0, 5000, 1_000_000),
            5000,
            [
                "written 100 records/s over the last 5 batches; arriving 0 records/s"
                " in the last minute",
                "nothing was committed for 17 min, and there is something to write:"
                " does the job run?",
            ],
        ),
    ],
)
def test_what_people_are_told(rates: Rates, lag: int | None, lines: list[str]) -> None:
    assert rate_lines(rates, lag, trigger_ms=1000) == lines


def test_a_slow_trigger_is_no_idle_job() -> None:
    rates = rates_of(WRITING, 0, 5000, 1_000_000)
    assert "does the job run" not in " ".join(rate_lines(rates, 5000, 3_600_000))


def test_other_programs_are_told_the_same() -> None:
    assert rates_of(WRITING, 10, 9000, 2000).as_json() == {
        "written_per_s": 100.0,
        "batches": 5,
        "seconds": 10,
        "arriving_per_s": 10,
        "seconds_since_commit": 2.0,
        "keeps_up": False,
        "eta_seconds": 100.0,
    }
    nothing = rates_of(None, None, None, 0).as_json()
    assert nothing["written_per_s"] is None
    assert nothing["eta_seconds"] is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "less than a second"),
        (1, "1 s"),
        (59.4, "59 s"),
        (150, "2 min"),
        (7300, "2 h"),
        (86_400, "1 day"),
        (200_000, "2 days"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
