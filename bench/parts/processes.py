"""CPU time and memory of a process and all it started, from /proc."""

import os
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_RUN_TIME = 2  # of the clocks that Linux keeps of each process, the exact one
# user, nice, system and stolen time in the first line of /proc/stat; interrupts are
# left out, which on loopback are the load's own packets.
_BUSY = (0, 1, 2, 7)


def tree(pid: int) -> list[int]:
    """``pid`` and its descendants."""
    pids = [pid]
    for parent in pids:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids += map(int, task.read_text().split())
            except OSError:  # the thread has just ended
                continue
    return pids


def cpu_seconds(pid: int) -> float:
    """User and system time, that of children that have ended included.

    By the clock of each process: in ticks of 10 ms, 200 MB consumed are nine of them.
    """
    return sum(cpu_of_each(pid).values())


def cpu_of_each(pid: int) -> dict[int, float]:
    """The same of each process of the tree, for who cannot wait for their ends.

    Spark's Python workers end when they are idle, and nobody is told what they took.
    """
    found = {}
    for each in tree(pid):
        try:
            text = Path(f"/proc/{each}/stat").read_text()
            seconds = time.clock_gettime(~each << 3 | _RUN_TIME)
        except OSError:
            continue
        ended = text.rpartition(")")[2].split()[13:15]
        found[each] = seconds + sum(map(int, ended)) / _TICK
    return found


def taken(before: dict[int, float], after: dict[int, float]) -> float:
    """Seconds between two answers of `cpu_of_each`; of what has ended, none."""
    return sum(seconds - before.get(pid, 0) for pid, seconds in after.items())


def memory_bytes(pid: int) -> int:
    """Resident memory; pages that the tree shares count once."""
    kib = 0
    for each in tree(pid):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib * 1024


def machine_busy_seconds() -> float:
    """CPU time of everything on the machine."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    return sum(int(fields[place]) for place in _BUSY) / _TICK
