"""A table that is committed to for years: milliseconds of a batch, as it grows.

    .venv/bin/python bench/many_commits.py --format delta --commits 100000

The real committer makes batches of one small file, without Spark or a broker, and each
``--compact-every`` batches the table is compacted and cleaned, as a sink does it. For
each ``--window`` batches: the median and the mean of their milliseconds, of the
processor's too, the kilobytes that are read and written, and what the process holds.
"""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench" / "parts")]

from arguments import at_least  # noqa: E402

from odradek.pipeline.tables.table import FORMATS  # noqa: E402
from tests.pipeline.many_commits import Cost, commits  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=FORMATS, default="parquet")
    parser.add_argument("--commits", type=at_least(1), default=100_000)
    parser.add_argument("--compact-every", type=at_least(1), default=1000)
    parser.add_argument("--window", type=at_least(1), default=5000)
    parser.add_argument(
        "--keep",
        default="",
        help="what a Delta table keeps of its history, like '1 minutes'; else 30 days"
        " its entries, and a week the names of removed files",
    )
    options = parser.parse_args()
    print("batches, ms (median), ms (mean), ms of the processor, KB moved, MB held")
    with tempfile.TemporaryDirectory(prefix="odradek-commits-") as folder:
        window: list[Cost] = []
        table = Path(folder) / "t"
        for cost in commits(
            options.format,
            table,
            options.commits,
            options.compact_every,
            options.keep,
        ):
            window.append(cost)
            if len(window) == options.window:
                show(window)
                window = []


def show(window: list[Cost]) -> None:
    """One line for some batches."""
    wall = [each.wall_s * 1000 for each in window]
    cpu = statistics.mean(each.cpu_s for each in window) * 1000
    moved = statistics.mean(each.moved for each in window) / 1000
    print(
        f"{window[-1].batch + 1:>7}  {statistics.median(wall):8.2f}"
        f"  {statistics.mean(wall):8.2f}  {cpu:8.2f}  {moved:9.1f}  {held():7.1f}",
        flush=True,
    )


def held() -> float:
    """Resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
