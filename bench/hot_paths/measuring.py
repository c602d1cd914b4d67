"""Times small operations: what one costs, in a process of its own.

Wall time is the median of the repeats, what a run is like. CPU time, of the whole
process, is the best of them, what the code costs when nothing disturbs it.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field

REPEATS = 9
SECONDS = 0.05


def _nothing() -> None:
    """Prepare nothing."""


@dataclass
class Case:
    """An operation; ``run(count)`` does it so many times.

    ``size`` is how many bytes of records one operation handles, 0 when that is not
    the point. ``prepare`` runs before each repeat and is not timed.
    """

    name: str
    run: Callable[[int], object]
    size: int = 0
    prepare: Callable[[], object] = field(default=_nothing)


@dataclass
class Timing:
    name: str
    wall_us: float
    cpu_us: float
    size: int

    def __str__(self) -> str:
        rate = f"{self.size / self.wall_us:10,.0f} MB/s" if self.size else ""
        return f"{self.name:44} {self.wall_us:9.2f} µs {self.cpu_us:9.2f} CPU µs {rate}"


def repeating(operation: Callable[[], object]) -> Callable[[int], None]:
    """``operation`` as the ``run`` of a case. The loop costs 20 ns a turn."""

    def run(count: int) -> None:
        for _ in range(count):
            operation()

    return run


def measure(case: Case, seconds: float = SECONDS, repeats: int = REPEATS) -> Timing:
    """Repeat ``case`` as often as fills ``seconds``, ``repeats`` times."""
    count = _calibrate(case, seconds)
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = _time(case, count)
        walls.append(wall / count * 1e6)
        cpus.append(cpu / count * 1e6)
    return Timing(case.name, statistics.median(walls), min(cpus), case.size)


def _calibrate(case: Case, seconds: float) -> int:
    count = 1
    while True:
        wall, _ = _time(case, count)
        if wall >= seconds / 4:
            return max(1, round(count * seconds / wall))
        count *= 4


def _time(case: Case, count: int) -> tuple[float, float]:
    case.prepare()
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    case.run(count)
    wall = time.perf_counter() - wall
    return wall, time.process_time() - cpu


def main(cases: Callable[[], Iterable[Case]]) -> None:
    """Time all of ``cases`` and print what they cost, as a table or as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="one line for each case")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    args = parser.parse_args()
    for case in cases():
        timing = measure(case, args.seconds, args.repeats)
        if args.json:
            print(json.dumps(asdict(timing)), flush=True)
        else:
            print(timing)
