"""The log directories of a broker: opened together, and who lives where.

Invariant: a partition lives in one of them. A directory that cannot be opened is left
out with what is in it; one whose disk fails later takes no more writes until the
broker starts anew. The others go on.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import MISSING

from .log_directory import BadLogDirectory, DirectoryKind, LogDirectory, TakeLock

_log = logging.getLogger(__name__)


class KnownPartition(NamedTuple):
    """What the catalogue says of a partition; ``log_dir`` once it was written."""

    topic_id: bytes
    log_dir: Path | None


Lookup: TypeAlias = Callable[[TopicPartition], KnownPartition | None]


class Watcher(Protocol):
    """Who hears in which directories logs are, and which of these fail."""

    def on_home(self, topic_partition: TopicPartition) -> None:
        """A log was made, or lives in another directory now."""

    def on_failure(self, directory: LogDirectory) -> None:
        """A directory takes no more writes."""


class LogDirectories:
    """All log directories, and in which of them a partition is.

    ``homes`` has the partitions that have a directory, ``unfinished`` those that were
    being moved into another when the last broker stopped, and are to be moved anew.
    """

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self.homes: dict[TopicPartition, LogDirectory] = {}
        self.unfinished: dict[TopicPartition, Path] = {}
        self.watcher: Watcher | None = None
        self._directories = directories

    def __iter__(self) -> Iterator[LogDirectory]:
        return iter(self._directories)

    def open(
        self, cluster_id: str, node_id: int, take_lock: TakeLock, lookup: Lookup
    ) -> None:
        """Take the directories, and find out what is in them. Waits for the disk.

        A partition that is in two of them is that which ``lookup`` describes; the
        other is kept aside.

        Raises:
            DirectoryInUse: another process has one of them.
            BadLogDirectory: one is another broker's, or named twice, or a copy; or
                nobody knows which of two directories of a partition is the right one.
            KafkaStorageError: none of them can be used.
        """
        self._check_paths()
        try:
            for directory in self._directories:
                self._open_one(directory, cluster_id, node_id, take_lock)
                if directory.failure is None:
                    self._check_copy(directory)
                    self._take_in(directory, lookup)
            for directory in self._directories:
                if directory.failure is None:
                    self._settle_moves(directory, lookup)
            if all(each.failure is not None for each in self._directories):
                reasons = "; ".join(str(each.failure) for each in self._directories)
                raise KafkaStorageError(reasons)
        except BaseException:
            self.release()
            raise

    @property
    def was_clean(self) -> bool:
        """Whether every directory was closed in order, so that its logs are whole."""
        return all(directory.was_clean for directory in self._directories)

    @property
    def all_usable(self) -> bool:
        """Whether none is left out, and none has failed."""
        return all(directory.failure is None for directory in self._directories)

    def choose(self, path: Path | None) -> LogDirectory:
        """Where a new partition is to live: in ``path``, or where there are the fewest.

        Raises:
            KafkaStorageError: the directory has failed.
        """
        usable = [
            each
            for each in self._directories
            if each.failure is None and path in (None, each.path)
        ]
        if not usable:
            raise KafkaStorageError(f"no log directory can be used ({path or 'any'})")
        return min(usable, key=lambda each: len(each.partitions))

    def settle(self, topic_partition: TopicPartition, home: LogDirectory) -> None:
        """A partition lives there from now on."""
        self.homes[topic_partition] = home
        if self.watcher is not None:
            self.watcher.on_home(topic_partition)

    def fail(self, path: Path, error: KafkaStorageError) -> list[TopicPartition]:
        """The disk under a directory has failed: the partitions that were in use."""
        found: list[TopicPartition] = []
        for directory in self._directories:
            if directory.path == path and directory.failure is None:
                directory.failure = error
                found += directory.partitions
                if self.watcher is not None:
                    self.watcher.on_failure(directory)
        return found

    def release(self) -> None:
        """Let others use the directories."""
        for directory in self._directories:
            with suppress(OSError):
                directory.release()

    def _check_paths(self) -> None:
        found: dict[str, Path] = {}
        for directory in self._directories:
            other = found.setdefault(os.path.realpath(directory.path), directory.path)
            if other is not directory.path:
                raise BadLogDirectory(
                    f"log.dirs has one directory twice: {other} and {directory.path}"
                )

    def _open_one(
        self,
        directory: LogDirectory,
        cluster_id: str,
        node_id: int,
        take_lock: TakeLock,
    ) -> None:
        try:
            directory.open(cluster_id, node_id, take_lock)
        except (KafkaStorageError, OSError) as error:
            directory.failure = KafkaStorageError(f"{directory.path}: {error}")
            _log.error("%s is left out: %s", directory.path, error)

    def _check_copy(self, directory: LogDirectory) -> None:
        for other in self._directories:
            if other is directory:
                return
            if other.directory_id == directory.directory_id is not None:
                raise BadLogDirectory(
                    f"{directory.path} has the directory.id of {other.path}: one is a "
                    "copy of the other"
                )

    def _take_in(self, directory: LogDirectory, lookup: Lookup) -> None:
        for topic_partition in list(directory.partitions):
            other = self.homes.get(topic_partition)
            if other is None:
                self.homes[topic_partition] = directory
                continue
            both = [other, directory]
            home = _right_one(topic_partition, both, lookup(topic_partition))
            both.remove(home)
            aside = both[0].rename(topic_partition, DirectoryKind.STRAY)
            _log.error(
                "%s is in %s; what was in another directory is kept as %s",
                topic_partition,
                home.partitions[topic_partition],
                aside,
            )
            self.homes[topic_partition] = home

    def _settle_moves(self, directory: LogDirectory, lookup: Lookup) -> None:
        for path, topic_partition in list(directory.futures.items()):
            try:
                self._settle_move(directory, path, lookup(topic_partition))
            except (KafkaStorageError, *MISSING) as error:
                _log.error("%s is left as it is: %s", path, error)

    def _settle_move(
        self, directory: LogDirectory, path: Path, known: KnownPartition | None
    ) -> None:
        """What a move has left of its copy; `log_move` says when it is the log."""
        topic_partition = directory.futures[path]
        home = self.homes.get(topic_partition)
        if known is None:
            _log.warning("%s is of no topic; it is left as it is", path)
        elif home is not None:
            directory.discard(path)
            if home is not directory:
                self.unfinished[topic_partition] = directory.path
            _log.info("%s was not finished; it begins anew", path)
        elif known.log_dir == directory.path and (
            directory.future_topic_id(path) == known.topic_id
        ):
            directory.promote(path)
            self.homes[topic_partition] = directory
            _log.info("%s is where it was being moved, in %s", topic_partition, path)
        else:
            _log.error(
                "%s is an unfinished copy of %s, the directory of which is gone; it is "
                "left as it is",
                path,
                topic_partition,
            )


def _right_one(
    topic_partition: TopicPartition,
    directories: Sequence[LogDirectory],
    known: KnownPartition | None,
) -> LogDirectory:
    if known is not None:
        matching = [
            each
            for each in directories
            if each.topic_id_of(topic_partition) == known.topic_id
        ]
        if len(matching) > 1:
            matching = [each for each in matching if each.path == known.log_dir]
        if len(matching) == 1:
            return matching[0]
    paths = " and in ".join(
        str(each.partitions[topic_partition]) for each in directories
    )
    raise BadLogDirectory(
        f"{topic_partition} is in {paths}; move the one that is not to be served away"
    )
