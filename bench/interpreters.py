"""Measures odradek on several Pythons in turns: which one to run it with.

    python bench/interpreters.py 3.11=/usr/bin/python3.11 3.13=VENV/bin/python
    python bench/interpreters.py 3.13=... 3.14=... --markdown docs/benchmarks.md

Each is given as NAME=PYTHON, a command that runs it, with odradek's dependencies of
its own; odradek itself is this checkout. All rows but the memory are times. What
stands in brackets is how many times the first column that is. The load is always
that of the Python that runs this script, which needs confluent-kafka.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "parts"))

from checkouts import target_of  # noqa: E402
from starts import started  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402
from targets import ROOT, Broker, Target  # noqa: E402
from work import RAW, Figures, disturbances, measure, topic  # noqa: E402

SECTION = "interpreters"
KIB = 1024
STARTS = 5  # in a round
BEST = ": least CPU µs"  # of the rounds: one that is disturbed may take ten times that
HOT_PATHS = (
    "decode_produce",
    "dispatch_requests",
    "encode_responses",
    "commit_offsets",
)
UNDER = {**os.environ, "PYTHONPATH": str(ROOT)}
TOLD = """\
import platform, sys
from odradek.protocol import speedups
locked = getattr(sys, "_is_gil_enabled", lambda: True)()
said = [platform.python_version()]
said.append("with the C extension" if speedups else "in plain Python")
said += [] if locked else ["without the GIL"]
print(", ".join(said))
"""

Results = dict[str, dict[str, list[float]]]  # row, name, rounds


def main() -> None:
    args = _arguments()
    for command in args.pythons.values():
        _run(command, "-m", "compileall", "-q", str(ROOT / "odradek"))
    told = [
        f"{name}: {_run(command, '-c', TOLD)}" for name, command in args.pythons.items()
    ]
    results: Results = {}
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for number in range(args.rounds):
            for name, command in _in_turn(args.pythons, number):
                _note(results, name, hot_paths(command, args.seconds / 40))
                for _ in range(STARTS):
                    _note(results, name, _start(_target(name, command), Path(root)))
                print(f"round {number + 1}: {name}", file=sys.stderr, flush=True)
        _measure_running(results, args, Path(root))
    others = statistics.median(disturbances or [0])
    text = _table(results, list(args.pythons))
    print("\n".join(told), text, sep="\n\n")
    if args.markdown:
        how = f"Median of {args.rounds} rounds; others used {others:.2f} cores."
        parts = [f"{machine()} {how}", f"{'; '.join(told)}.", text]
        replace_section(args.markdown, SECTION, "\n\n".join(parts))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="+", metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of each load")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    args = parser.parse_args()
    pairs = [each.partition("=") for each in args.pythons]
    args.pythons = {name: shlex.split(command) for name, _, command in pairs}
    if not all(args.pythons.values()):
        parser.error("each Python has a name: NAME=PYTHON")
    return args


def _in_turn(pythons: dict[str, list[str]], number: int) -> list[tuple[str, list[str]]]:
    """Forwards, then backwards, so that none is always the first."""
    pairs = list(pythons.items())
    return pairs[::-1] if number % 2 else pairs


def _run(command: list[str], *words: str) -> str:
    done = subprocess.run(
        [*command, *words], env=UNDER, cwd="/", stdout=subprocess.PIPE, check=True
    )
    return done.stdout.decode().strip()


def _target(name: str, python: list[str]) -> Target:
    return target_of(name, ROOT, "none", python)


def hot_paths(command: list[str], seconds: float) -> Figures:
    """The CPU time of each operation, in µs."""
    figures: Figures = {}
    for name in HOT_PATHS:
        script = str(HERE / "hot_paths" / f"{name}.py")
        lines = _run(command, script, "--json", "--seconds", str(seconds))
        for timing in map(json.loads, lines.splitlines()):
            figures[f"{timing['name']}{BEST}"] = timing["cpu_us"]
    return figures


def _start(python: Target, root: Path) -> Figures:
    with started(python, root) as (broker, answered_s):
        return {
            "start to first answer: ms": answered_s * 1000,
            "RSS then: MB": broker.memory_bytes() / 1e6,
        }


def _measure_running(results: Results, args: argparse.Namespace, root: Path) -> None:
    """Brokers that all stay up, and the loads on them in turns."""
    with ExitStack() as stack:
        brokers = {}
        for name, command in args.pythons.items():
            broker = brokers[name] = Broker(_target(name, command), root)
            stack.callback(broker.remove)
            broker.start()
            list(_loads(broker, args.seconds / 4))  # it gets warm
        for number in range(args.rounds):
            for name, _ in _in_turn(args.pythons, number):
                for figures in _loads(brokers[name], args.seconds):
                    _note(results, name, figures)
        for name, broker in brokers.items():
            _note(results, name, {"RSS after all: MB": broker.memory_bytes() / 1e6})


def _loads(broker: Broker, seconds: float) -> Iterator[Figures]:
    load = {"connections": 16, "seconds": seconds}
    with topic(broker, 12) as name:
        produced = measure(
            broker, RAW, "produce", topic=name, partitions=12, size=100, **load
        )
        yield _per_request("produce 100 B, 16 connections", produced)
    with topic(broker) as name:
        measure(broker, RAW, "produce", topic=name, count=1000, size=KIB)
        fetched = measure(
            broker, RAW, "fetch", topic=name, offsets=1000, size=KIB, **load
        )
        yield _per_request("fetch 1 KiB, 16 connections", fetched)


def _per_request(row: str, measured: Figures) -> Figures:
    requests = measured["requests"]
    return {
        f"{row}: broker CPU µs": measured["broker_cpu_s"] / requests * 1e6,
        f"{row}: p99 µs": measured["p99_us"],
    }


def _note(results: Results, name: str, figures: Figures) -> None:
    for row, figure in figures.items():
        results.setdefault(row, {}).setdefault(name, []).append(figure)


def _table(results: Results, names: list[str]) -> str:
    """A row for each figure, a column for each Python, ratios to the first."""
    rows = []
    for row, by_name in results.items():
        choose = min if row.endswith(BEST) else statistics.median
        middle = {name: choose(all_) for name, all_ in by_name.items()}
        cells = [short(middle[name]) if name in middle else "" for name in names]
        first = middle.get(names[0])
        for place, name in enumerate(names[1:], 1):
            if first and name in middle:
                cells[place] += f" ({middle[name] / first:.2f}x)"
        rows.append([row, *cells])
    return table(["", *names], rows)


if __name__ == "__main__":
    main()
