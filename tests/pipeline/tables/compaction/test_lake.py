"""Delta and Iceberg tables are compacted while jobs go on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.compaction import lake
from odradek.pipeline.tables.compaction.compaction import (
    Group,
    Rewritten,
    compact,
    rewrite_here,
)
from odradek.pipeline.tables.table import Table, open_table
from tests.pipeline.fake_job import JOB, run_batches
from tests.pipeline.table_readers import rows_of


def filled(kind: str, location: Path, batches: range) -> None:
    def made() -> tuple[Table, None]:
        return open_table(kind, str(location), JOB), None

    run_batches(made, batches)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_commits_of_all_jobs_are_carried(kind: str, tmp_path: Path) -> None:
    filled(kind, tmp_path / "t", range(3))
    other = open_table(kind, str(tmp_path / "t"), "other")
    other.commit(Commit("other", 5, ()), [])
    compact(str(tmp_path / "t"))
    found = [other.last_commit(job) for job in (JOB, "other")]
    assert [each and each.batch for each in found] == [2, 5]
    other.close()


def test_log_is_read_back_to_the_last_compaction_but_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, read = tmp_path / "t", []
    history = DeltaTable.history

    def counted(table: DeltaTable, limit: int | None = None) -> list[dict[str, Any]]:
        read.append(limit)
        return history(table, limit)

    monkeypatch.setattr(lake, "_HISTORY", (4, 20, None))
    monkeypatch.setattr(DeltaTable, "history", counted)
    other = open_table("delta", str(location), "other")
    filled("delta", location, range(4))
    other.commit(Commit("other", 5, ()), [])
    for batch in range(4, 20, 4):
        compact(str(location))
        filled("delta", location, range(batch, batch + 4))
    read.clear()
    compact(str(location))
    assert read == [4, 20]
    found = [other.last_commit(job) for job in (JOB, "other")]
    assert [each and each.batch for each in found] == [19, 5]
    other.close()


def test_commit_that_a_compaction_has_not_seen_is_carried_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = tmp_path / "t"
    seen = lake._last_commits

    def late(table: DeltaTable) -> list[Commit]:
        found = list(seen(table))
        filled("delta", location, range(3, 4))
        return found

    filled("delta", location, range(3))
    compact(str(location))
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(lake, "_last_commits", late)
        compact(str(location))
    table = DeltaTable(location)
    assert [each.batch for each in seen(table)] == [3]


def test_commit_meanwhile_is_not_undone(tmp_path: Path) -> None:
    location = tmp_path / "t"
    filled("iceberg", location, range(3))

    def rewrite(groups: Sequence[Group], folder: Path) -> list[Rewritten]:
        filled("iceberg", location, range(3, 4))
        return rewrite_here(groups, folder)

    with pytest.raises(JobError, match="another process committed"):
        compact(str(location), rewrite=rewrite)
    assert rows_of("pyiceberg", location, "_offset") == list(range(40))
    compact(str(location))
    assert rows_of("pyiceberg", location, "_offset") == list(range(40))


def test_commit_goes_on_top_of_a_compaction(tmp_path: Path) -> None:
    """The driver had loaded the table before it was compacted."""
    location = tmp_path / "t"
    for kind in ("delta", "iceberg"):
        filled(kind, location / kind, range(3))
        table = open_table(kind, str(location / kind), JOB)
        assert table.last_commit(JOB) is not None
        compact(str(location / kind))
        filled(kind, location / kind, range(3, 4))
        table.close()
    assert rows_of("deltalake", location / "delta", "_offset") == list(range(40))
    assert rows_of("pyiceberg", location / "iceberg", "_offset") == list(range(40))
