"""Batches are committed once, wherever the driver dies and however many there are."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from pyspark_odradek.committer import Step
from pyspark_odradek.job_errors import CommitRefused, JobError, JobStopped
from pyspark_odradek.offset_range import OffsetRange
from pyspark_odradek.table import FORMATS, Table, open_table
from tests.pyspark_odradek.fake_job import (
    JOB,
    LETTERS,
    PLACE,
    SCHEMA,
    DriverDied,
    driver,
    range_of,
    run_batches,
    with_driver,
    writer,
)
from tests.pyspark_odradek.table_readers import READERS, rows_of

BATCHES = range(4)
GOOD = [n for n in range(40) if n % 10 != 7]
BAD = [n for n in range(40) if n % 10 == 7]


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


@pytest.mark.parametrize("step", list(Step))
def test_driver_dies_in_the_first_batch(
    kind: str,
    step: Step,
    made: Callable[[], tuple[Table, Table]],
    tmp_path: Path,
) -> None:
    run_batches(made, BATCHES, dies_at=step, dies_in=0)
    check(kind, tmp_path)
