"""Measures whole brokers on this machine, odradek and others, in one run.

    python bench/broker.py
    python bench/broker.py --quick --scenarios tiny,synced
    python bench/broker.py --markdown docs/benchmarks.md --kafka KAFKA/libs \\
        --command 'kfake=kfake -port {port} -data-dir {data_dir}'

Brokers take turns, scenario by scenario, ``--rounds`` times; the median counts. In
the table, what stands in brackets is how many times the first column that is; before
it stands what was aimed at, as far as this run measured it in full size. The load
needs CPU of its own: on two cores requests/s and MB/s say how both do, CPU is the
broker's alone. "others" is what neither of them used: above 0.3 cores, timings are
not to be trusted. With Apache Kafka and kfake, all scenarios take some 12 minutes for
two rounds, 17 for three.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "parts"))

import scenarios  # noqa: E402
from aims import aims_table  # noqa: E402
from peers import kafka  # noqa: E402
from sizes import QUICK, Size  # noqa: E402
from starts import STARTING  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402
from targets import Broker, Target, compile_packages, odradek  # noqa: E402
from work import Figures, disturbances  # noqa: E402

SECTION = "whole broker"
NAMES = [*STARTING, *scenarios.RUNNING]

Results = dict[str, dict[str, list[float]]]  # row, broker, rounds


def main() -> None:
    args = _arguments()
    size = QUICK if args.quick else Size()
    rounds = 1 if args.quick else args.rounds
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    compile_packages()
    run = Run(args.scenarios, args.targets, size, rounds)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        run.measure_starting(Path(root))
        run.measure_running(Path(root))
    text = run.report()
    print(text)
    if args.markdown:
        how = "One round" if rounds == 1 else f"Median of {rounds} rounds"
        head = f"{machine()} {how}; {run.disturbance()}."
        replace_section(args.markdown, SECTION, f"{head}\n\n{text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", type=_scenarios, default=NAMES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round, small sizes")
    parser.add_argument(
        "--durability",
        nargs="*",
        default=["none", "commit"],
        help="of odradek: one column each (default: none commit)",
    )
    parser.add_argument("--kafka", type=Path, metavar="LIBS", help="measure it as well")
    parser.add_argument(
        "--command",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="measure this broker as well; {port} and {data_dir} are filled in",
    )
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    args = parser.parse_args()
    args.targets = [odradek(durability) for durability in args.durability]
    if args.kafka:
        args.targets.append(kafka(args.kafka))
    for pair in args.command:
        name, _, command = pair.partition("=")
        args.targets.append(Target(name, command))
    return args


def _scenarios(text: str) -> list[str]:
    names = text.split(",")
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no {', '.join(unknown)}, only {', '.join(NAMES)}"
        )
    return names


class Run:
    """The figures of one run, as they come in."""

    def __init__(
        self, names: list[str], targets: list[Target], size: Size, rounds: int
    ) -> None:
        self._names = names
        self._targets = targets
        self._size = size
        self._rounds = rounds
        self._results: Results = {}
        self._others: list[float] = []

    def measure_starting(self, root: Path) -> None:
        """What starts brokers of its own, one at a time."""
        for name in (name for name in self._names if name in STARTING):
            for target in self._targets * self._rounds:
                self._attempt(
                    name, target.name, STARTING[name], target, root, self._size
                )

    def measure_running(self, root: Path) -> None:
        """The rest, on brokers that all stay up."""
        names = [name for name in self._names if name in scenarios.RUNNING]
        brokers: list[Broker] = []
        try:
            for target in self._targets if names else ():
                broker = Broker(target, root)
                brokers.append(broker)
                broker.start()
                size = self._size if target.compiles_late else QUICK
                warm_up = scenarios.warm_up
                self._attempt("warm up", target.name, warm_up, broker, size)
            for _ in range(self._rounds):
                for name in names:
                    for broker in brokers:
                        scenario = scenarios.RUNNING[name]
                        self._attempt(name, broker.name, scenario, broker, self._size)
        finally:
            for broker in brokers:
                broker.remove()

    def _attempt(
        self, name: str, target: str, scenario: Callable[..., Figures], *args: Any
    ) -> None:
        """One scenario on one broker. A failure leaves a gap; the run goes on."""
        disturbances.clear()
        os.sync()  # what the one before left unwritten would hold up this one's syncs
        began = time.monotonic()
        try:
            figures = scenario(*args)
        except Exception as error:
            print(f"{name} on {target} failed: {error!r}", file=sys.stderr)
            return
        for row, figure in figures.items():
            self._results.setdefault(row, {}).setdefault(target, []).append(figure)
        others = statistics.median(disturbances or [0])
        self._others.append(others)
        took = time.monotonic() - began
        print(
            f"{took:6.1f} s  {name:11} {target:20} others {others:.2f} cores",
            file=sys.stderr,
            flush=True,
        )

    def disturbance(self) -> str:
        """How much of the machine something else had."""
        others = self._others or [0.0]
        middle, most = statistics.median(others), max(others)
        return f"others used {middle:.2f} cores in the median, {most:.2f} at most"

    def report(self) -> str:
        """The aims that this run measured, and all figures beside each other."""
        middle = {
            row: {name: statistics.median(all_) for name, all_ in by_target.items()}
            for row, by_target in self._results.items()
        }
        parts = [aims_table(middle), self._table(middle)]
        return "\n\n".join(part for part in parts if part)

    def _table(self, middle: dict[str, dict[str, float]]) -> str:
        """A row for each figure, a column for each broker, ratios to the first."""
        names = [target.name for target in self._targets]
        rows = []
        for row, by_target in middle.items():
            first = by_target.get(names[0])
            cells = [short(first) if first is not None else ""]
            for name in names[1:]:
                figure = by_target.get(name)
                cell = short(figure) if figure is not None else ""
                if figure and first:
                    cell += f" ({short(figure / first)}x)"
                cells.append(cell)
            rows.append([row, *cells])
        return table(["", *names], rows)


if __name__ == "__main__":
    main()
