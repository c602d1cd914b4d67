"""What the garbage collector of a worker need not look at again.

Spark's workers collect all generations after every task. With pyspark, numpy and
pyarrow loaded that is 30 ms of processor time, as much as 128 MiB of log take.
"""

from __future__ import annotations

import gc

_done: list[bool] = []


def freeze_once() -> None:
    """Set apart what this process has loaded: it stays for as long as the process.

    For tasks, and only the first of a process does anything. What is garbage by then
    is collected first.
    """
    if not _done:
        _done.append(True)
        gc.collect()
        gc.freeze()
