"""What is to be removed from the disk, and when: old segments, deleted partitions.

It has another name already and nobody finds it any more; its bytes go when the
``file.delete.delay.ms`` of its topic is over. What a kill leaves of it, the next start
removes: by its name. So the names are synced before the first file of a segment goes;
a power cut must not bring its log back without its transaction index.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import Files

if TYPE_CHECKING:
    from odradek.storage.segment.log_segment import LogSegment

RETRY_AFTER_MS: Final = 60_000

_log = logging.getLogger(__name__)


class _Removal(NamedTuple):
    due_ms: int
    path: Path
    remove: Callable[[], None]
    is_segment: bool = False
    is_repeated: bool = False


class Removals:
    """What waits to be removed, of all log directories."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._waiting: list[_Removal] = []
        self._failed: deque[_Removal] = deque()
        self._directories: dict[Path, TopicPartition] = {}
        self.is_held = False  # nothing is to be removed now

    @property
    def unremoved_partitions(self) -> set[TopicPartition]:
        """The deleted partitions whose directories are still there."""
        return set(self._directories.values())

    def add_segment(self, segment: "LogSegment", due_ms: int) -> None:
        """Remove a segment's files at ``due_ms``."""
        self._waiting.append(
            _Removal(due_ms, segment.log.path, segment.delete_files, is_segment=True),
        )

    def add_directory(
        self,
        path: Path,
        topic_partition: TopicPartition,
        due_ms: int,
        segments: "Iterable[LogSegment]" = (),
    ) -> None:
        """Remove the directory of a partition, deleted or moved, at ``due_ms``.

        The files of ``segments`` that are open give back their room when closed.
        """
        self._directories[path] = topic_partition

        def remove() -> None:
            for segment in segments:
                with suppress(KafkaStorageError, FileNotFoundError):
                    segment.close()
            self._files.rmtree(path)
            self._directories.pop(path, None)

        self._waiting.append(_Removal(due_ms, path, remove))

    def job(self, now_ms: int) -> Callable[[], None] | None:
        """The removal of what is due, for a disk thread; None when nothing is, or
        while that is held.

        What cannot be removed is reported once, keeps nothing else, and is tried
        again after a minute.
        """
        if self.is_held:
            return None
        while self._failed:
            failed = self._failed.popleft()
            due_ms = now_ms + RETRY_AFTER_MS
            self._waiting.append(failed._replace(due_ms=due_ms, is_repeated=True))
        due = [each for each in self._waiting if each.due_ms <= now_ms]
        if not due:
            return None
        self._waiting = [each for each in self._waiting if each.due_ms > now_ms]
        return lambda: self._remove(due)

    def _remove(self, due: list[_Removal]) -> None:
        directories = {each.path.parent for each in due if each.is_segment}
        unsure = {each for each in directories if not self._has_synced(each)}
        for removal in due:
            if removal.is_segment and removal.path.parent in unsure:
                continue
            try:
                removal.remove()
            except FileNotFoundError:
                continue  # its partition was deleted, and the directory is gone
            except Exception as error:
                if not removal.is_repeated:
                    is_ours = not isinstance(error, KafkaStorageError | OSError)
                    _log.warning(
                        "%s is not removed: %s", removal.path, error, exc_info=is_ours
                    )
                self._failed.append(removal)

    def _has_synced(self, directory: Path) -> bool:
        """Make the names in a partition's directory durable.

        If that fails nobody knows them, and nothing in it is removed before the next
        start: a failed sync is not tried again.
        """
        try:
            self._files.sync_directory(directory)
        except FileNotFoundError:
            pass  # the partition was deleted; its segments are found to be gone
        except (KafkaStorageError, OSError) as error:
            _log.error(
                "%s keeps its old segments until a restart: %s", directory, error
            )
            return False
        return True
