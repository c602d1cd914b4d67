"""Measures what one more costs: a partition, a connection, a group, a GB of log.

    python bench/growth.py
    python bench/growth.py --scenarios groups --most 1000
    python bench/growth.py --markdown docs/benchmarks.md --plot docs/growth.svg

From 1 to 10,000 of each, and from 1 to 100 GB, in steps of ten; every number of them
has a broker of its own, with ``durability=none``, so that no disk is measured. All
figures but memory are CPU time of the broker. What is "each" should stay as it is,
however many there are; what is of all of them together may grow tenfold in a step.
The log of 100 GB is a sparse file with the index entries of a real one. Takes some
eight minutes.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from growing import SCENARIOS, Row  # noqa: E402
from plot import plot  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402
from targets import compile_packages  # noqa: E402

SECTION = "growth"
MOST = 10_000
FIRST_BIG = 100  # before that, what one start or one tick costs is most of it


def main() -> None:
    args = _arguments()
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    compile_packages()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for name in args.scenarios.split(","):
            rows += _measured(name, args.most, Path(root))
    text = table(_head(), [_cells(row) for row in rows])
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")
    if args.plot:
        args.plot.write_text(plot({row.name: row.figures for row in rows}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--most", type=int, default=MOST, help="of each")
    parser.add_argument("--dir", type=Path, help="where the data lies meanwhile")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    parser.add_argument("--plot", type=Path, metavar="SVG", help="draw it there")
    return parser.parse_args()


def _measured(name: str, most: int, root: Path) -> list[Row]:
    measure, counts = SCENARIOS[name]
    found: dict[str, Row] = {}
    for count in [each for each in counts if each <= most]:
        for what, figure in measure(count, root).items():
            found.setdefault(what, Row(what, {})).figures[count] = figure
            print(f"{count} {what}: {short(figure)}", file=sys.stderr)
    return list(found.values())


def _head() -> list[str]:
    return ["", "1", "10", "100", "1,000", "10,000", "in the last steps"]


def _cells(row: Row) -> list[str]:
    cells = [
        short(row.figures[count]) if count in row.figures else ""
        for count in (1, 10, 100, 1_000, 10_000)
    ]
    return [row.name, *cells, _steps(row.figures)]


def _steps(figures: dict[int, float]) -> str:
    """How many times the figure grew where the number grew tenfold."""
    counts = sorted(figures)
    steps = [
        f"x {figures[later] / figures[count]:.2g}"
        for count, later in itertools.pairwise(counts)
        if (count >= FIRST_BIG or later == counts[-1]) and figures[count]
    ]
    return ", ".join(steps)


if __name__ == "__main__":
    main()
