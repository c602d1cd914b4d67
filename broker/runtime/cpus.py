"""How many CPUs this process may use."""

import os
from pathlib import Path

_CGROUP_ROOT = Path("/sys/fs/cgroup")


def usable_cpus(cgroup_root: Path = _CGROUP_ROOT) -> float:
    """The CPUs it may run on, or what its container is given of them.

    2.5 when the container may use so much time of them; never 0.
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    given = _quota(cgroup_root)
    return count if given is None else min(count, given)


def _quota(cgroup_root: Path) -> float | None:
    """CPU time for each second, by either version of control groups."""
    try:
        quota, period = (cgroup_root / "cpu.max").read_text("ascii").split()
    except (OSError, ValueError):
        try:
            directory = cgroup_root / "cpu"
            quota = (directory / "cpu.cfs_quota_us").read_text("ascii").strip()
            period = (directory / "cpu.cfs_period_us").read_text("ascii").strip()
        except (OSError, ValueError):
            return None
    if not (quota.isdecimal() and period.isdecimal() and int(period)):
        return None  # "max" and -1: no limit
    return int(quota) / int(period)
