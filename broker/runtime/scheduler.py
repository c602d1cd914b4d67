"""The periodic jobs of the broker: each has a name, an interval and an owner.

A job that fails is logged and runs again at its next turn. Two runs of one job
never overlap: the interval is counted from the end of a run to the next start.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .bugs import Bugs
    from .clock import Clock


@dataclass(slots=True)
class _Job:
    name: str
    interval_ms: int
    function: Callable[[], object]
    task: asyncio.Task[None] | None = None
    is_running: bool = False


class Scheduler:
    """Runs functions again and again, by the broker's clock."""

    def __init__(self, clock: Clock, bugs: Bugs) -> None:
        self._clock = clock
        self._bugs = bugs
        self._jobs: dict[str, _Job] = {}
        self._is_stopping = False

    @property
    def names(self) -> list[str]:
        """The names of all jobs, in the order in which they were added."""
        return list(self._jobs)

    @property
    def running(self) -> list[str]:
        """The names of the jobs that are at work just now."""
        return [name for name, job in self._jobs.items() if job.is_running]

    def every(
        self,
        interval_ms: int,
        name: str,
        function: Callable[[], object],
        *,
        first_after_ms: int | None = None,
    ) -> None:
        """Call ``function`` every ``interval_ms``, and await what it returns.

        The first call comes after ``first_after_ms``, by default one interval.
        """
        if name in self._jobs:
            raise ValueError(f"there is a job {name!r} already")
        if self._is_stopping:
            return
        job = _Job(name, interval_ms, function)
        delay_ms = interval_ms if first_after_ms is None else first_after_ms
        job.task = asyncio.get_running_loop().create_task(
            self._repeat(job, delay_ms), name=name
        )
        self._jobs[name] = job

    def interval_of(self, name: str) -> int | None:
        """How often a job runs, in milliseconds; None when there is no such job."""
        job = self._jobs.get(name)
        return None if job is None else job.interval_ms

    def change_interval(self, name: str, interval_ms: int) -> None:
        """Let a job run more or less often, from its next turn on; if it is there."""
        job = self._jobs.get(name)
        if job is not None:
            job.interval_ms = interval_ms

    async def stop(self) -> None:
        """Start no job any more, and return when those that run have ended."""
        self._is_stopping = True
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for job in self._jobs.values():
            if job.task is not None and not job.is_running:
                job.task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._jobs.clear()

    async def _repeat(self, job: _Job, delay_ms: int) -> None:
        while not self._is_stopping:
            await self._clock.sleep(delay_ms)
            job.is_running = True
            try:
                result = job.function()
                if inspect.isawaitable(result):
                    await result
            except Exception as error:
                self._bugs.record(f"job {job.name}", error)
            finally:
                job.is_running = False
            delay_ms = job.interval_ms
