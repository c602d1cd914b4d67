"""A partition moves to another log directory: the copy takes the log's place.

Producers and consumers go on all the while; for a moment at the end nothing new
becomes durable, so that nobody is told of a record which only one of the two has. The
steps, and what a start finds after a kill or a power cut between any two (what the
catalogue says is ``log_dir`` of the partition):

1. the catalogue says the old directory; the copy is made, and follows the log. Only the
   old log counts: the copy is removed, and made anew.
2. `hold`: what is durable stays where it is. The copy has all of it and is synced, with
   the small files, and the checkpoints of its directory speak of the log (`prepare`).
3. The catalogue says the new directory. The old one is still the log, as it is there.
4. `exchange`: the last bytes are copied, the old directory is renamed to ``-delete``,
   the log goes on in the copy. From the renaming on the copy is the log: a start finds
   no other, and gives it its name, because the catalogue says so.
5. The renaming is durable (`sync_old_name`), and the copy gets the partition's name
   (`finish`): at no moment do two directories have it.

Then the log is released, and the next sync makes durable what came meanwhile.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import MISSING, Files
from odradek.storage.local.segments import LogSegments
from odradek.storage.log.unified_log import UnifiedLog

from .future_log import CopyPlan, FutureLog
from .log_directory import DirectoryKind, LogDirectory, suffixed_name

# What is copied on the loop at the end, unless more comes all the while.
LAST_BYTES_MAX: Final = 512 << 10

_log = logging.getLogger(__name__)


class LogMove:
    """One log on its way from ``home`` to ``target``. Made by `LogManager.begin_move`.

    ``future`` is the copy.
    """

    def __init__(
        self, files: Files, log: UnifiedLog, home: LogDirectory, target: LogDirectory
    ) -> None:
        name = suffixed_name(log.topic_partition, DirectoryKind.FUTURE)
        self.log = log
        self.home = home
        self.target = target
        self.future = FutureLog(files, log, target.path / name)
        self._files = files
        self._snapshot_offset = -1
        self._cut_count = log.local.cut_count

    @property
    def is_cut(self) -> bool:
        """Whether the log was cut since `hold`: all of it is to be copied anew."""
        return self.log.local.cut_count != self._cut_count

    def hold(self) -> Callable[[], bool]:
        """Let nothing become durable. On the loop; the job is for a disk thread.

        It makes durable what the log has now, and returns whether that is all of it:
        if not, something was removed meanwhile.
        """
        self.log.syncing.hold()
        self._cut_count = self.log.local.cut_count
        plan, texts = self.future.plan(), self.future.texts()
        self._snapshot_offset = plan.end_offset
        logs = [self.log]
        checkpoints = self.target.checkpoints
        taken = checkpoints.take(logs)

        def prepare() -> bool:
            if not self.future.copy(plan, plan.size):
                return False
            self.future.write(texts)
            checkpoints.write(taken)
            return True

        return prepare

    def last_plan(self) -> CopyPlan | None:
        """What `exchange` would have to copy, when that is too much for the loop."""
        plan = self.future.plan()
        return plan if self.future.missing(plan) > LAST_BYTES_MAX else None

    def exchange(self) -> tuple[Path, LogSegments]:
        """Let the log go on in the copy: the old directory's new name, and segments.

        On the loop, in one breath.

        Raises:
            KafkaStorageError, FileNotFoundError: the log is where it was.
        """
        plan = self.future.plan()
        while not self.future.copy(plan, plan.size):
            pass
        old_path = self.home.rename(self.log.topic_partition, DirectoryKind.DELETE)
        old = self.future.hand_over(self._snapshot_offset)
        for segment in old:
            segment.moved(old_path)
        self.target.partitions[self.log.topic_partition] = self.future.directory
        return old_path, old

    def sync_old_name(self) -> None:
        """See that no power cut brings the old directory back. For a disk thread."""
        self._files.sync_directory(self.home.path)

    def finish(self) -> None:
        """Give the copy the partition's name, and let it become durable.

        Raises:
            KafkaStorageError: the disk fails; the log is to `fail` with it.
        """
        topic_partition = self.log.topic_partition
        path = self.target.path / str(topic_partition)
        self._files.rename(self.future.directory, path)
        self.target.partitions[topic_partition] = path
        self.log.follow_directory(path)
        self.log.syncing.release()

    def abandon(self) -> Callable[[], None]:
        """Stay where the log is. On the loop; the job removes the copy."""
        self.log.syncing.release()
        self.target.checkpoints.forget(self.log.topic_partition)

        def remove() -> None:
            with suppress(KafkaStorageError, *MISSING):
                self._files.rmtree(self.future.directory)

        return remove
