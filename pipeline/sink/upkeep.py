"""What a sink does for its tables from time to time, between two batches.

Small files become large ones, and files that the table does not name any more are
removed when their readers have had time. When it was done last is the time of a file
beside the checkpoint, so that jobs that run by the clock have it done, too. It is no
part of any batch: what goes wrong here is said, and tried again the next time.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

from odradek.pipeline.tables.compaction.compaction import FILE_SIZE, NOTHING, compact
from odradek.pipeline.tables.compaction.removed_files import remove_old_files
from odradek.pipeline.tables.table import local_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.pipeline.jobs.job_file import Job
    from odradek.terminal.progress import Progress

_log = logging.getLogger(__name__)
_MARK = "odradek-upkeep"


class Upkeep:
    """The upkeep of the tables of one job, whose driver has them."""

    def __init__(
        self, job: Job, progress: Progress, now_s: Callable[[], float] = time.time
    ) -> None:
        self._job = job
        self._progress = progress
        self._now_s = now_s
        self._mark = local_path(job.checkpoint) / _MARK

    def after_batch(self) -> None:
        """Do what is due; nothing with a job that wants none of it."""
        if self._job.compact_every_ms and self._is_due():
            self._tend(self._job.table_path, self._job.catalog)
            if (letters := self._job.dead_letters) is not None:
                self._tend(letters, self._job.dead_letters_catalog)
            self._done()

    def _is_due(self) -> bool:
        try:
            last_s = os.stat(self._mark).st_mtime
        except FileNotFoundError:
            self._done()  # a new job: there is nothing yet
            return False
        # A clock that was put back makes nobody wait for longer.
        since_ms = abs(self._now_s() - last_s) * 1000
        return since_ms >= self._job.compact_every_ms

    def _done(self) -> None:
        now_s = self._now_s()
        self._mark.parent.mkdir(parents=True, exist_ok=True)
        self._mark.touch()
        os.utime(self._mark, (now_s, now_s))

    def _tend(self, location: str, catalog: dict[str, str]) -> None:
        done, removed = NOTHING, 0
        try:
            done = compact(
                location,
                FILE_SIZE,
                catalog=catalog,
                store=self._job.store,
                is_ours=True,
            )
            before_s = self._now_s() - self._job.keep_removed_ms / 1000
            removed = remove_old_files(location, catalog, before_s, self._job.store)
        except Exception as error:  # the libraries of tables have many
            _log.info("the upkeep of %s", location, exc_info=error)
            reason = " ".join(str(error).split()) or type(error).__name__
            self._progress.note("not compacted", table=location, reason=reason)
        if done.files_after < done.files_before or removed:
            self._progress.note(
                "compacted",
                table=location,
                files_before=done.files_before,
                files_after=done.files_after,
                removed=removed,
            )
