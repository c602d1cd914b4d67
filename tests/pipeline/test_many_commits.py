"""A batch costs the same after many others: a sample always, all of it at length."""

import statistics
from contextlib import closing
from pathlib import Path

import pytest

from odradek.pipeline.tables.table import FORMATS, open_table
from tests.pipeline.fake_job import JOB
from tests.pipeline.many_commits import ROWS, Cost, commits, rows_in
from tests.sampling import sampled

# Tables tidy up each so many commits: what is compared has whole rounds of it.
WINDOWS = {"parquet": 100, "delta": 50, "iceberg": 50}
GROWTH_MAX = 2.0


def grown(costs: list[Cost], window: int, what: str) -> float:
    """How much more the last batches take than the first ones."""
    first, last = costs[window : 2 * window], costs[-window:]
    before, after = (
        statistics.mean(getattr(c, what) for c in w) for w in (first, last)
    )
    return after / before


def check(folder: Path, kind: str, count: int) -> None:
    with closing(open_table(kind, str(folder), JOB)) as table:
        last = table.last_commit(JOB)
        assert last is not None
        assert last.batch == count - 1
        assert rows_in(table) == count * ROWS


@pytest.mark.parametrize("kind", sampled(FORMATS, "delta"))
def test_a_few_hundred(kind: str, tmp_path: Path) -> None:
    """By what is read and written, which no other load on the machine changes."""
    window = WINDOWS[kind]
    count = 4 * window
    costs = list(commits(kind, tmp_path / "t", count, window // 2, "1 seconds"))
    check(tmp_path / "t", kind, count)
    assert grown(costs, window, "moved") <= GROWTH_MAX


@pytest.mark.long
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("kind", FORMATS)
def test_a_hundred_thousand(kind: str, tmp_path: Path) -> None:
    """By the time of the processor, too."""
    count = 100_000
    costs = list(commits(kind, tmp_path / "t", count, 1000, "1 minutes"))
    check(tmp_path / "t", kind, count)
    print({what: round(grown(costs, 100, what), 2) for what in Cost._fields[1:]})
    assert grown(costs, 100, "cpu_s") <= GROWTH_MAX
