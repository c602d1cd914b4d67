"""Rounds of cleaning without a process: for files in memory, and a disk thread."""

from collections.abc import Awaitable, Callable

from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.storage.cleaner.plan import CleanedSegment, CleaningPlan, RoundEnd
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.cleaner.unfinished import remove_unfinished
from odradek.storage.files.files import Files

Take = Callable[[CleanedSegment], Awaitable[object]]


class ThreadCleaner:
    """Rounds in a disk thread: slower for everybody else, but any `Files` will do.

    The rate of a plan is not kept.
    """

    def __init__(self, files: Files, disk_threads: DiskThreads) -> None:
        self._files = files
        self._disk_threads = disk_threads

    async def clean(
        self, plan: CleaningPlan, take: Take, is_wanted: Callable[[], bool]
    ) -> RoundEnd | None:
        """What `Cleaner` says."""
        run = self._disk_threads.run
        cleaning = await run(CleaningRound, self._files, plan)
        while (cleaned := await run(cleaning.clean_next)) is not None:
            if not is_wanted():
                await run(remove_unfinished, self._files, plan)
                return None
            await take(cleaned)
        return RoundEnd(None, cleaning.next_dirty_offset, cleaning.stats)
