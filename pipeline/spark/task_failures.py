"""What a task lacks on the machine that it ran on, out of what Spark says of it.

Spark tells of a failed task in a text: where it ran, and the tracebacks of several
processes. What an executor has to have is named with its host, in our words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .status import DRIVER, SparkRecords

if TYPE_CHECKING:
    from pyspark import SparkContext

_PLACE = re.compile(
    r"Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \((\S+) executor (\w+)"
)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_NO_PACKAGE = re.compile(r"\[PACKAGE_NOT_INSTALLED\] (\w+)")
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
_OTHER_PYTHON = re.compile(
    r"Python in worker has different version:? \(?([\d., ]+?)\)? than that in driver:?"
    r" \(?([\d., ]+?)\)?[,\s]"
)
_OURS = ("odradek", "pyspark_odradek")
_ASK = "`odradek pipeline doctor` with the same --master asks every executor"


def text_of(error: BaseException) -> str:
    """All that Spark says of a job that failed: also where the task ran."""
    from pyspark import SparkContext

    return str(error) + _last_failure(SparkContext._active_spark_context)


def _last_failure(context: SparkContext | None) -> str:
    """A line as Spark writes it itself, where it writes one; empty if it cannot be."""
    if context is None:
        return ""
    try:
        task = SparkRecords(context).last_failure()
    except Exception:  # its JVM may be gone
        return ""
    if task is None:
        return ""
    place = f"{task.host} executor {task.executor}"
    return f"\nLost task 0.0 in stage 0.0 (TID 0) ({place}): {task.failure}"


def place_of(text: str) -> str:
    """Where the task ran that failed last, like ``worker-2 (executor 1)``.

    Empty where it was this process's own Spark, or is not said.
    """
    found = _PLACE.findall(text)
    host, executor = found[-1] if found else ("", DRIVER)
    return "" if executor == DRIVER else f"{host} (executor {executor})"


def with_place(said: str, text: str) -> str:
    """What an error says, and the machine, unless it says that itself."""
    place = place_of(text)
    if not place or place.partition(" ")[0] in said:
        return said
    return f"{said.rstrip('.')}; so said a task on {place}"


def lacking(text: str) -> str:
    """What the executor lacks, and what to do; empty where it is something else."""
    place = place_of(text)
    where = f"The Python of {place}" if place else "The Python of Spark's workers"
    for pattern in (_NO_MODULE, _NO_PACKAGE):
        if found := pattern.findall(text):
            name = "odradek" if found[-1] in _OURS else found[-1]
            return (
                f"{where} does not have {name}: install odradek with its extra"
                " `pipeline` (and those of your table and values) on every machine that"
                f" runs tasks, and set PYSPARK_PYTHON to that Python; {_ASK}"
            )
    if found := _NO_PROGRAM.findall(text):
        return (
            f"{place or 'This machine'} has no Python at {found[-1]}, which"
            " PYSPARK_PYTHON names: it has to be under this path on every machine of"
            f" Spark; {_ASK}"
        )
    if versions := _OTHER_PYTHON.search(text):
        worker, driver = (each.replace(", ", ".") for each in versions.groups())
        return (
            f"{where} is {worker}, and the driver's {driver}: set PYSPARK_PYTHON to"
            f" a Python {driver} that every machine of Spark has; {_ASK}"
        )
    return ""
