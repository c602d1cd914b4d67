"""How long a broker for tests takes to its ready line, and what it holds then.

    .venv/bin/python bench/broker_starts.py [--brokers 30]

Started, as the first of a run, and forked, as those after it. Beside the time on the
clock stands the time on a processor, which does not depend on what else runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from odradek.testing import Broker, forks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=30)
    count = parser.parse_args().brokers
    forks._forks._is_possible = False
    print(f"started           {_measure(count)}")
    forks._forks._is_possible = True
    print(f"the server, first {_measure(1)}")
    print(f"forked            {_measure(count)}")


def _measure(count: int) -> str:
    clock_ms, computed_ms, resident_kb, own_kb = [], [], 0, 0
    for _ in range(count):
        broker = Broker()
        before = time.perf_counter()
        with broker:
            clock_ms.append((time.perf_counter() - before) * 1000)
            process = Path(f"/proc/{broker.pid}")
            computed_ms.append(_computed_ms(process))
            resident_kb = _kilobytes(process / "status", "VmRSS")
            own_kb = _kilobytes(process / "smaps_rollup", "Pss")
    return (
        f"median {statistics.median(clock_ms):4.0f} ms, least {min(clock_ms):4.0f}; "
        f"computing {statistics.median(computed_ms):4.0f} ms; "
        f"{resident_kb / 1024:.1f} MB, its share {own_kb / 1024:.1f} MB"
    )


def _computed_ms(process: Path) -> float:
    tasks = (process / "task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / 1e6


def _kilobytes(path: Path, name: str) -> int:
    lines = path.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
