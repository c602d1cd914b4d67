import io
import json
from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.jobs.job_file import Job, read_job
from odradek.pipeline.sink.upkeep import Upkeep
from odradek.pipeline.tables.table import FORMATS, Table, open_table
from odradek.terminal.progress import Progress
from tests.pipeline.fake_job import JOB, run_batches, with_driver
from tests.pipeline.table_readers import READERS, rows_of

HOUR_S = 3600.0


class Clock:
    """Moves when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now_s


class Driven:
    """A job's upkeep, its clock, and what it has said."""

    def __init__(self, folder: Path, kind: str, every: str = "1h") -> None:
        table = {"path": "t", "format": kind, "compact_every": every}
        content: dict[str, Any] = {"name": JOB, "source": {"topics": ["t"]}}
        self.job: Job = read_job({**content, "table": table}, folder)
        self.clock, self._said = Clock(), io.StringIO()
        self.upkeep = self.another()

    def another(self) -> Upkeep:
        """That of the next driver of the job."""
        return Upkeep(self.job, Progress(self._said), self.clock)

    def said(self) -> list[dict[str, Any]]:
        lines = self._said.getvalue().splitlines()
        self._said.seek(0)
        self._said.truncate()
        return [json.loads(line) for line in lines]


def tables(folder: Path, kind: str) -> tuple[Table, Table]:
    letters = open_table(kind, str(folder / "t-dead-letters"), JOB)
    return open_table(kind, str(folder / "t"), JOB), letters


def fill(folder: Path, kind: str, batches: range) -> None:
    run_batches(lambda: tables(folder, kind), batches)


@pytest.mark.parametrize("kind", FORMATS)
def test_it_is_done_when_it_is_due(kind: str, tmp_path: Path) -> None:
    driven = Driven(tmp_path, kind)
    fill(tmp_path, kind, range(3))
    driven.upkeep.after_batch()  # of a new job
    driven.clock.now_s += HOUR_S - 1
    driven.upkeep.after_batch()
    assert driven.said() == []
    driven.clock.now_s += 1
    driven.another().after_batch()  # as with jobs that run by the clock
    said = driven.said()
    assert [each["step"] for each in said] == ["compacted"] * 2
    assert [(each["files_before"], each["files_after"]) for each in said] == [
        (6, 1),
        (3, 1),
    ]
    driven.upkeep.after_batch()
    assert driven.said() == []
    fill(tmp_path, kind, range(3, 5))
    for reader in READERS[kind]:
        rows = rows_of(reader, tmp_path / "t", "_offset")
        assert rows == [n for n in range(50) if n % 10 != 7], reader


def test_between_two_batches_of_a_driver_that_has_the_lock(tmp_path: Path) -> None:
    """Its table is another folder then, and still its own."""
    driven = Driven(tmp_path, "parquet", every="1s")
    table, letters = tables(tmp_path, "parquet")
    for batch in range(6):
        with_driver(table, letters, batch, None)
        driven.clock.now_s += 1
        driven.upkeep.after_batch()
    assert [each["step"] for each in driven.said()] == ["compacted"] * 10
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1
    other, _ = tables(tmp_path, "parquet")
    with pytest.raises(Exception, match="another process writes to the table"):
        with_driver(other, None, 6, None)
    table.close()
    letters.close()
    fill(tmp_path, "parquet", range(6, 7))
    rows = rows_of("duckdb", tmp_path / "t", "_offset")
    assert rows == [n for n in range(70) if n % 10 != 7]


def test_a_job_that_wants_none(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "parquet", every="")
    driven.upkeep.after_batch()
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_is_said_and_the_job_goes_on(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "delta", every="1s")
    driven.upkeep.after_batch()
    driven.clock.now_s += 2
    driven.upkeep.after_batch()  # there is no table
    said = driven.said()
    assert [each["step"] for each in said] == ["not compacted"] * 2
    assert "is not a table" in said[0]["reason"]
    driven.upkeep.after_batch()  # not before it is due again
    assert driven.said() == []
