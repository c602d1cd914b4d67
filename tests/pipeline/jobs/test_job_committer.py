"""Batches are committed once, wherever the driver dies and however many there are."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.pipeline.job_errors import CommitRefused, JobStopped, TooManyDeadLetters
from odradek.pipeline.jobs.job_committer import JobCommitter, JobTables, Step, Written
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables.parquet import ParquetTable
from odradek.pipeline.tables.table import FORMATS, Table, open_table
from odradek.pipeline.values.dead_letters import DeadLetterLimit
from tests.pipeline.fake_job import (
    JOB,
    LETTERS,
    PLACE,
    SCHEMA,
    DriverDied,
    FakeLog,
    driver,
    range_of,
    run_batches,
    with_driver,
    writer,
)
from tests.pipeline.table_readers import READERS, rows_of

BATCHES = range(4)
GOOD = [n for n in range(40) if n % 10 != 7]
BAD = [n for n in range(40) if n % 10 == 7]
# Each step under one of the formats; in the long run under all.
FIRST = [
    pytest.param(
        kind,
        step,
        marks=[] if place % len(FORMATS) == number else [pytest.mark.long],
        id=f"{kind}-{step}",
    )
    for number, kind in enumerate(FORMATS)
    for place, step in enumerate(Step)
]


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(kind: str, tmp_path: Path) -> Callable[[], tuple[Table, Table]]:
    def make() -> tuple[Table, Table]:
        return (
            open_table(kind, str(tmp_path / "rows"), JOB),
            open_table(kind, str(tmp_path / "letters"), JOB),
        )

    return make


def check(kind: str, tmp_path: Path) -> None:
    for reader in READERS[kind]:
        assert rows_of(reader, tmp_path / "rows", "_offset") == GOOD, reader
        assert rows_of(reader, tmp_path / "letters", "offset") == BAD, reader


@pytest.mark.parametrize("step", list(Step))
def test_driver_dies_at_each_step(
    kind: str,
    step: Step,
    made: Callable[[], tuple[Table, Table]],
    tmp_path: Path,
) -> None:
    run_batches(made, BATCHES, dies_at=step, dies_in=2)
    check(kind, tmp_path)


@pytest.mark.parametrize(("kind", "step"), FIRST, indirect=["kind"])
def test_driver_dies_in_the_first_batch(
    kind: str,
    step: Step,
    made: Callable[[], tuple[Table, Table]],
    tmp_path: Path,
) -> None:
    run_batches(made, BATCHES, dies_at=step, dies_in=0)
    check(kind, tmp_path)


@pytest.mark.parametrize("dies_at", [None, Step.COMMITTED])
def test_twin_drivers_at_the_commit(
    kind: str,
    dies_at: Step | None,
    made: Callable[[], tuple[Table, Table]],
    tmp_path: Path,
) -> None:
    """Both have staged batch 2 when one commits it; it may die before cleaning up."""
    run_batches(made, range(2))
    first, second = twins(kind, tmp_path)
    planned = range_of(2)

    def write_while_the_other_commits(
        staging: Path, dead_staging: Path | None
    ) -> Written:
        written = writer(planned)(staging, dead_staging)
        with suppress(DriverDied):
            driver(second, None, dies_at).run(2, planned, writer(planned, 3))
        return written

    with pytest.raises(CommitRefused, match="another driver"):
        driver(first, None).run(2, planned, write_while_the_other_commits)
    for each in (first, second):
        each.close()
    last = second.last_commit(JOB)
    assert last is not None
    second.publish(last)
    expected = sorted([n for n in range(20) if n % 10 != 7] + list(range(20, 30)))
    for reader in READERS[kind]:
        assert rows_of(reader, tmp_path / "rows", "_offset") == expected, reader


def test_twin_drivers_one_behind_the_other(
    kind: str, made: Callable[[], tuple[Table, Table]], tmp_path: Path
) -> None:
    """A driver that was held up comes back when its batch is long committed."""
    run_batches(made, range(2))
    first, second = twins(kind, tmp_path)

    def write_while_the_other_goes_on(
        staging: Path, dead_staging: Path | None
    ) -> Written:
        written = writer(range_of(2))(staging, dead_staging)
        other = driver(second, None)
        for batch in (2, 3, 4):
            other.run(batch, range_of(batch), writer(range_of(batch)))
        return written

    with pytest.raises(CommitRefused, match="another driver"):
        driver(first, None).run(2, range_of(2), write_while_the_other_goes_on)
    for reader in READERS[kind]:
        seen = rows_of(reader, tmp_path / "rows", "_offset")
        assert seen == [n for n in range(50) if n % 10 != 7 or n >= 20], reader


def twins(kind: str, tmp_path: Path) -> tuple[Table, Table]:
    location = tmp_path / "rows"
    if kind == "parquet":  # on two hosts, where no lock helps
        return (
            ParquetTable(location, JOB, takes_lock=False),
            ParquetTable(location, JOB, takes_lock=False),
        )
    return (
        open_table(kind, str(location), JOB),
        open_table(kind, str(location), JOB),
    )


def test_batch_without_a_row_is_a_commit(
    kind: str, made: Callable[[], tuple[Table, Table]], tmp_path: Path
) -> None:
    """All offsets were control records, or all rows dead letters."""
    run_batches(made, range(1))
    table, dead = made()
    table.create(SCHEMA)
    nothing = Written([], [], 0, 0, {})
    committed = driver(table, dead).run(1, range_of(1), lambda *_: nothing)
    assert committed is not None
    last = table.last_commit(JOB)
    assert last is not None
    assert (last.batch, last.ends) == (1, {PLACE: 20})
    table.close()
    run_batches(made, range(2, 3))
    for reader in READERS[kind]:
        seen = rows_of(reader, tmp_path / "rows", "_offset")
        assert seen == [n for n in range(30) if n % 10 != 7 and n // 10 != 1], reader


def test_replayed_batch_is_passed_over(
    kind: str, made: Callable[[], tuple[Table, Table]]
) -> None:
    run_batches(made, range(2))
    table, dead = made()

    def fail(*_: object) -> Written:
        raise AssertionError("it is written already")

    assert driver(table, dead).run(1, range_of(1), fail) is None


@pytest.mark.parametrize(
    ("batch", "start", "end", "said"),
    [
        (0, 0, 10, "checkpoint is older than the table"),
        (1, 10, 25, "checkpoint is older than the table"),
        (3, 30, 40, "the table has batch 1 as its last"),
        (2, 25, 40, "records would be lost"),
        (2, 15, 30, "records would be repeated"),
    ],
)
def test_batch_that_does_not_fit_the_table(
    batch: int,
    start: int,
    end: int,
    said: str,
    made: Callable[[], tuple[Table, Table]],
    tmp_path: Path,
) -> None:
    run_batches(made, range(2))
    planned = [OffsetRange(*PLACE, start, end)]
    table, dead = made()
    with pytest.raises(JobStopped, match=said):
        driver(table, dead).run(batch, planned, writer(planned))
    assert table.last_commit(JOB) is not None
    assert table.last_commit(JOB).batch == 1  # type: ignore[union-attr]


def test_first_batch_of_a_checkpoint_of_another_table(
    made: Callable[[], tuple[Table, Table]],
) -> None:
    table, dead = made()
    table.create(SCHEMA)
    with pytest.raises(JobStopped, match="the table has nothing of this job"):
        driver(table, dead).run(5, range_of(5), writer(range_of(5)))


def test_records_that_were_not_planned(
    made: Callable[[], tuple[Table, Table]],
) -> None:
    table, dead = made()
    table.create(SCHEMA)
    dead.create(LETTERS)
    with pytest.raises(JobStopped, match="outside of what was planned"):
        driver(table, dead).run(0, range_of(0), writer(range_of(1)))


def test_decoding_changed_between_the_two_commits(
    made: Callable[[], tuple[Table, Table]],
) -> None:
    """The dead letters were committed; now they would be rows as well."""
    table, dead = made()
    with pytest.raises(DriverDied):
        with_driver(table, dead, 0, Step.DEAD_LETTERS_COMMITTED)

    def write(staging: Path, dead_staging: Path | None) -> Written:
        return writer(range_of(0))(staging, None)

    with pytest.raises(JobStopped, match="settings of the decoding were changed"):
        driver(table, dead).run(0, range_of(0), write)


def test_batch_has_other_offsets_than_its_dead_letters(
    made: Callable[[], tuple[Table, Table]],
) -> None:
    """The checkpoint was lost between the two commits, and nobody rebuilt it."""
    table, dead = made()
    with pytest.raises(DriverDied):
        with_driver(table, dead, 0, Step.DEAD_LETTERS_COMMITTED)
    planned = [OffsetRange(*PLACE, 0, 30)]
    with pytest.raises(JobStopped, match=r"were committed to .* up to t-0: 10"):
        driver(table, dead).run(0, planned, writer(planned))


def test_mostly_dead_letters_commit_nothing(
    made: Callable[[], tuple[Table, Table]],
) -> None:
    table, dead = made()
    table.create(SCHEMA)
    dead.create(LETTERS)
    committer = JobCommitter(
        JOB, JobTables(table, dead), FakeLog(), DeadLetterLimit(0.05)
    )
    planned = [OffsetRange(*PLACE, 0, 200)]
    with pytest.raises(TooManyDeadLetters):
        committer.run(0, planned, writer(planned))
    assert table.last_commit(JOB) is None
    assert dead.last_commit(JOB) is None
