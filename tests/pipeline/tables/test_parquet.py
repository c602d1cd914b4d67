"""A folder of Parquet files and its log: names, locks, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from odradek.pipeline.job_errors import CommitRefused, JobError
from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.pipeline.tables.compaction.compaction import rewrite_here
from odradek.pipeline.tables.compaction.parquet import compact_parquet
from odradek.pipeline.tables.parquet import LOG_KEPT, ParquetTable
from tests.pipeline.fake_job import (
    JOB,
    PLACE,
    SCHEMA,
    driver,
    range_of,
    run_batches,
    writer,
)
from tests.pipeline.table_readers import rows_of


def filled(folder: Path, count: int) -> ParquetTable:
    run_batches(lambda: (ParquetTable(folder, JOB), None), range(count))
    return ParquetTable(folder, JOB)


def test_readers_see_nothing_but_committed_files(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    seen = sorted(name for name in os.listdir(tmp_path / "t") if name[0] != "_")
    assert [name[:22] for name in seen] == [
        f"part-{batch:010d}-{number:05d}-"[:22] for batch in (0, 1) for number in (0, 1)
    ]
    staged = table.staging(2)
    writer(range_of(2))(staged, None)
    assert rows_of("pandas", tmp_path / "t", "_offset") == list(range(20))
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(20))


def test_committed_files_appear_when_the_next_driver_starts(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1)
    staged = table.staging(1)
    written = writer(range_of(1))(staged, None)
    table.commit(Commit(JOB, 1, (), staged=staged.name), written.files)
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(10))
    # It died in the middle of the moves.
    manifest = json.loads((tmp_path / "t" / "_log" / f"{1:020d}.json").read_text())
    source, name = manifest["files"][0]
    os.rename(tmp_path / "t" / source, tmp_path / "t" / name)
    driver(ParquetTable(tmp_path / "t", JOB)).recover()
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(20))
    assert os.listdir(tmp_path / "t" / "_stage") == []


def test_one_process_writes(tmp_path: Path) -> None:
    first, second = (ParquetTable(tmp_path / "t", JOB) for _ in range(2))
    first.create(SCHEMA)
    with pytest.raises(JobError, match="another process writes"):
        second.create(SCHEMA)
    first.close()
    second.create(SCHEMA)
    second.close()


def test_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(JobError, match=r"not a table of odradek.*mine.txt"):
        ParquetTable(tmp_path, JOB).create(SCHEMA)


def test_table_of_another_job(tmp_path: Path) -> None:
    filled(tmp_path / "t", 1)
    other = ParquetTable(tmp_path / "t", "other")
    with pytest.raises(JobError, match="a Parquet table has one job"):
        other.create(SCHEMA)
    assert other.last_commit("other") is None


def log_of(table: Path) -> list[int]:
    return sorted(int(path.stem) for path in (table / "_log").glob("[0-9]*.json"))


def with_old_log(table: Path, count: int) -> None:
    """As a version left it that kept everything."""
    for batch in range(1, count):
        ends = CommittedRange(*PLACE, batch * 10, (batch + 1) * 10, "id", 0)
        fields = json.loads(Commit(JOB, batch, (ends,)).as_json())
        path = table / "_log" / f"{batch:020d}.json"
        path.write_text(json.dumps({**fields, "files": []}))


def test_log_keeps_the_last_batches(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 1)
    for batch in range(1, LOG_KEPT + 20):
        commit = Commit(JOB, batch, ())
        table.commit(commit, [])
        table.publish(commit)
    assert log_of(tmp_path / "t") == list(range(20, LOG_KEPT + 20))
    last = ParquetTable(tmp_path / "t", JOB).last_commit(JOB)
    assert last is not None
    assert last.batch == LOG_KEPT + 19


def test_long_log_of_an_old_table_is_folded_in_steps(tmp_path: Path) -> None:
    count = 150
    filled(tmp_path / "t", 1)
    with_old_log(tmp_path / "t", count)
    left = []
    for batch in range(count, count + 3):
        run_batches(
            lambda: (ParquetTable(tmp_path / "t", JOB), None), range(batch, batch + 1)
        )
        left.append(len(log_of(tmp_path / "t")))
    # Each start of a driver folds as well.
    assert left == [count + 1 - 40, LOG_KEPT, LOG_KEPT]
    offsets = [*range(10), *range(count * 10, (count + 3) * 10)]
    assert rows_of("duckdb", tmp_path / "t", "_offset") == offsets


@pytest.mark.parametrize("has_stray", [False, True])
def test_driver_that_was_held_up_until_its_batch_was_folded(
    has_stray: bool, tmp_path: Path
) -> None:
    """Its number is free again, and it links to it; the later ones tell.

    A third driver may have done the same with the batch before, and died then.
    """
    filled(tmp_path / "t", 2)
    slow, fast = (ParquetTable(tmp_path / "t", JOB, takes_lock=False) for _ in range(2))
    assert slow.last_commit(JOB) is not None
    staged = slow.staging(2)
    written = writer(range_of(2))(staged, None)
    for batch in range(2, LOG_KEPT + 10):
        fast.commit(Commit(JOB, batch, ()), [])
        if batch != 2:  # whoever publishes batch 2 removes what the other has staged
            fast.publish(Commit(JOB, batch, ()))
    assert log_of(tmp_path / "t") == list(range(10, LOG_KEPT + 10))
    if has_stray:
        (tmp_path / "t" / "_log" / f"{1:020d}.json").write_text("{}")
    before = log_of(tmp_path / "t")
    with pytest.raises(CommitRefused, match="another driver"):
        slow.commit(Commit(JOB, 2, (), staged=staged.name), written.files)
    assert log_of(tmp_path / "t") == before
    assert rows_of("duckdb", tmp_path / "t", "_offset") == list(range(20))


def test_link_of_a_driver_that_died_before_it_looked(tmp_path: Path) -> None:
    """A folded number is there again; it counts for nothing, and is folded again."""
    table = filled(tmp_path / "t", 1)
    for batch in range(1, LOG_KEPT + 20):
        table.commit(Commit(JOB, batch, ()), [])
        table.publish(Commit(JOB, batch, ()))
    stray = {**json.loads(Commit(JOB, 3, ()).as_json()), "files": []}
    (tmp_path / "t" / "_log" / f"{3:020d}.json").write_text(json.dumps(stray))
    for each in (table, ParquetTable(tmp_path / "t", JOB)):
        last = each.last_commit(JOB)
        assert last is not None
        assert last.batch == LOG_KEPT + 19
        each.publish(last)  # a driver that starts looks at the whole log
    assert log_of(tmp_path / "t") == list(range(20, LOG_KEPT + 20))


def test_folded_table_is_compacted(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 3)
    for batch in range(3, LOG_KEPT + 20):
        table.commit(Commit(JOB, batch, ()), [])
        table.publish(Commit(JOB, batch, ()))
    compact_parquet(tmp_path / "t", 1 << 20, rewrite_here)
    assert log_of(tmp_path / "t") == list(range(20, LOG_KEPT + 20))
    number = LOG_KEPT + 20
    run_batches(
        lambda: (ParquetTable(tmp_path / "t", JOB), None), range(number, number + 1)
    )
    offsets = [*range(30), *range(number * 10, number * 10 + 10)]
    assert rows_of("duckdb", tmp_path / "t", "_offset") == offsets


def test_folder_of_an_earlier_version_is_cleaned_up(tmp_path: Path) -> None:
    """The table is of one job: what is staged of its batch is its own."""
    filled(tmp_path / "t", 1)
    left = tmp_path / "t" / "_stage" / f"{JOB.replace('-', '_')}-0000000001-{'0' * 12}"
    left.mkdir()
    run_batches(lambda: (ParquetTable(tmp_path / "t", JOB), None), range(1, 2))
    assert not left.exists()


def test_first_batch_of_a_driver_that_was_held_up(tmp_path: Path) -> None:
    """It saw an empty log, and there is none before to look for."""
    slow, fast = (ParquetTable(tmp_path / "t", JOB, takes_lock=False) for _ in range(2))
    slow.create(SCHEMA)
    assert slow.last_commit(JOB) is None
    for batch in range(LOG_KEPT + 10):
        fast.commit(Commit(JOB, batch, ()), [])
        fast.publish(Commit(JOB, batch, ()))
    before = log_of(tmp_path / "t")
    with pytest.raises(CommitRefused, match="another driver"):
        slow.commit(Commit(JOB, 0, ()), [])
    assert log_of(tmp_path / "t") == before
