"""Says that work waits for a cluster that gives nothing to run it on.

Spark waits for ever then. It does say so, among warnings that commands leave out.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from .executors import context_of, is_cluster
from .status import DRIVER, SparkRecords

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from odradek.terminal.progress import Progress

NO_EXECUTOR = (
    "the cluster has no core or memory to spare, or its machines cannot reach this one"
    " under the name that Spark gives it (--conf spark.driver.host)"
)
_PATIENCE_S = 30.0


class ExecutorWatch:
    """Looks now and then, until the first executor has come or this was said."""

    def __init__(
        self,
        context: SparkContext,
        progress: Progress,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._context = context
        self._progress = progress
        self._patience_s = patience_s
        self._has_ended = threading.Event()

    def start(self) -> None:
        """Look on, beside the work."""
        threading.Thread(target=self._look_on, daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._has_ended.set()

    def look(self) -> bool:
        """Say it if it is so; whether there is nothing more to look for."""
        executors = SparkRecords(self._context).executors()
        if any(each.executor != DRIVER for each in executors):
            return True
        if not self._context.statusTracker().getActiveStageIds():
            return False
        self._progress.note(
            f"no executor has come in {self._patience_s:g} s, and Spark waits for one:"
            f" {NO_EXECUTOR}"
        )
        return True

    def _look_on(self) -> None:
        with suppress(Exception):  # Spark has ended
            while not self._has_ended.wait(self._patience_s):
                if self.look():
                    return


def watched(
    spark: SparkSession, master: str, progress: Progress
) -> ExecutorWatch | None:
    """A watch that has begun, where executors are to come; else None."""
    context = context_of(spark) if is_cluster(master) else None
    if context is None:
        return None
    watch = ExecutorWatch(context, progress)
    watch.start()
    return watch
