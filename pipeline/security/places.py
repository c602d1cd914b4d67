"""Files that options name, on whatever machine they are wanted.

A task finds one where its option says, or where Spark has put what was handed over
with ``spark.files`` (``--files``), under the same name.
"""

from __future__ import annotations

import os
import socket
import sys


def here(path: str) -> str:
    """Where the file is on this machine; the path itself where it is not."""
    path = os.path.expanduser(path)
    if os.path.exists(path) or not is_task():
        return path
    from pyspark import SparkFiles

    brought = os.path.join(SparkFiles.getRootDirectory(), os.path.basename(path))
    return brought if os.path.exists(brought) else path


def is_task() -> bool:
    """Whether this runs for Spark, perhaps on another machine than the driver."""
    spark = sys.modules.get("pyspark")
    return spark is not None and spark.TaskContext.get() is not None


def not_here(reason: object) -> str:
    """What to say of a file or variable that a task does not find."""
    return (
        f"A task on {socket.gethostname()} cannot get in at the brokers: {reason}. What"
        " options name has to be on every machine that runs tasks, or is brought there:"
        " a file by spark.files (--files), which keeps its name, a variable by"
        " spark.executorEnv.NAME"
    )
