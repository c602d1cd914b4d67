"""Times the hot paths, one script of ``hot_paths`` each, and prints one table.

    python bench/run.py                         all of them
    python bench/run.py append_log read_log     these
    python bench/run.py --compare HEAD~5        beside another revision
    python bench/run.py --markdown docs/benchmarks.md

Each script runs in processes of its own, several times, here and at the other
revision in turns; of its runs the one that was disturbed least counts. The scripts are
those of this checkout. Only a revision from before the name ``odradek`` has its own.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "parts"))

from checkouts import worktree  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402

ROOT = HERE.parent
SCRIPTS = HERE / "hot_paths"
PARTS = {"logs", "measuring", "partitions", "samples", "serving"}  # of the scripts
SECTION = "hot paths"
SCRIPT_SECONDS_MAX = 600

Timings = dict[str, dict[str, Any]]  # by the name of the case, in their order


def main() -> None:
    args = _arguments()
    if args.compare:
        with worktree(args.compare) as other:
            if scripts_of(other) != SCRIPTS:
                told = "has other names for modules: it is timed by scripts of its own"
                print(f"{args.compare} {told}", file=sys.stderr)
            now, then = time_all(args, [ROOT, other])
        text = compared(now, then, args.compare)
    else:
        (now,) = time_all(args, [ROOT])
        text = _alone(now)
    if not now:
        sys.exit("Nothing was timed: no hot path ran to its end.")
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def hot_paths() -> list[str]:
    """The names of all scripts."""
    return sorted({path.stem for path in SCRIPTS.glob("*.py")} - PARTS)


def _arguments() -> argparse.Namespace:
    names = hot_paths()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--compare", metavar="REV", help="time this revision as well")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each script")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each repeat")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    args = parser.parse_args()
    args.names = args.names or names
    unknown = sorted(set(args.names) - set(names))
    if unknown:
        parser.error(f"no such hot path: {', '.join(unknown)}")
    return args


def time_all(args: argparse.Namespace, roots: list[Path]) -> list[Timings]:
    """The timings of each of the source trees, which take turns."""
    timings: list[Timings] = [{} for _ in roots]
    for name in args.names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        for _ in range(args.rounds):
            for root, known in zip(roots, timings, strict=True):
                for timing in _run_script(name, root, args.seconds):
                    _keep_best(known, timing)
    return timings


def _run_script(name: str, root: Path, seconds: float) -> list[dict[str, Any]]:
    # Not isolated by -P: the scripts find their parts in their own folder. The
    # path goes before the installed packages, so these are those of ``root``.
    command = [sys.executable, str(scripts_of(root) / f"{name}.py"), "--json"]
    command += ["--seconds", str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=SCRIPT_SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        print(f"{name} at {root}: it does not end", file=sys.stderr)
        return []
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:]
        print(f"{name} at {root}: {' '.join(reason)}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def scripts_of(root: Path) -> Path:
    """Those that time ``root``.

    Without the package ``odradek`` in it ours would find the one that is installed, and
    compare that with itself.
    """
    return SCRIPTS if (root / "odradek").is_dir() else root / "bench" / "hot_paths"


def _keep_best(known: Timings, timing: dict[str, Any]) -> None:
    best = known.setdefault(timing["name"], timing)
    for key in ("wall_us", "cpu_us"):
        best[key] = min(best[key], timing[key])


def _alone(now: Timings) -> str:
    rows = []
    for name, timing in now.items():
        rate = short(timing["size"] / timing["wall_us"]) if timing["size"] else ""
        rows.append([name, short(timing["wall_us"]), short(timing["cpu_us"]), rate])
    return table(["operation", "µs", "CPU µs", "MB/s"], rows)


def compared(now: Timings, then: Timings, revision: str) -> str:
    rows = []
    for name in dict.fromkeys([*now, *then]):
        cells = [name]
        for key in ("wall_us", "cpu_us"):
            here, there = (each.get(name, {}).get(key) for each in (now, then))
            cells += [short(each) if each else "" for each in (here, there)]
            cells.append(f"{here / there:.2f}" if here and there else "")
        rows.append(cells)
    before = f"at {revision}"
    head = ["operation", "µs", before, "ratio", "CPU µs", before, "ratio"]
    return table(head, rows)


if __name__ == "__main__":
    main()
