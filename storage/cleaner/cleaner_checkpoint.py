"""Where each log of a directory was cleaned up to: ``cleaner-offset-checkpoint``."""

import logging
from collections.abc import Callable, Collection
from pathlib import Path

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSETS_NAME,
    read_offsets,
    write_offsets,
)
from odradek.storage.files.files import Files
from odradek.storage.formats.checkpoint import CheckpointError

_log = logging.getLogger(__name__)


class CleanerCheckpoint:
    """The checkpoint of one log directory; read when it is first asked."""

    def __init__(self, files: Files, directory: Path) -> None:
        self._files = files
        self._path = directory / CLEANER_OFFSETS_NAME
        self._offsets: dict[TopicPartition, int] | None = None
        self._is_being_written = False

    def get(self, topic_partition: TopicPartition) -> int | None:
        """Up to where a log was cleaned; None when it never was."""
        return self._loaded().get(topic_partition)

    def put(
        self,
        topic_partition: TopicPartition,
        offset: int,
        known: Collection[TopicPartition],
    ) -> None:
        """Note it, and write the checkpoint with what is ``known``. Waits for the disk.

        Raises:
            KafkaStorageError: it cannot be written.
        """
        self.put_job(topic_partition, offset, known)()

    def put_job(
        self,
        topic_partition: TopicPartition,
        offset: int,
        known: Collection[TopicPartition],
    ) -> Callable[[], None]:
        """Note it; the job, which raises as `put` does, is for a disk thread.

        One job at a time. It is to be run.
        """
        offsets = {**self._loaded(), topic_partition: offset}
        self._offsets = {each: at for each, at in offsets.items() if each in known}
        self._is_being_written = True
        return self._write

    def _write(self) -> None:
        """Until what is written is all that is noted: something may be forgotten."""
        try:
            written = None
            while written != self._loaded():
                written = dict(self._loaded())
                write_offsets(self._files, self._path, written)
        finally:
            self._is_being_written = False

    def forget(self, topic_partition: TopicPartition) -> None:
        """A log is gone; one that gets its name was not cleaned. Waits for the disk."""
        try:
            offsets = self._loaded()
            if offsets.pop(topic_partition, None) is None or self._is_being_written:
                return  # who writes it sees to this, too
            write_offsets(self._files, self._path, offsets)
        except KafkaStorageError as error:
            _log.warning(
                "%s still speaks of %s: %s", self._path, topic_partition, error
            )

    def _loaded(self) -> dict[TopicPartition, int]:
        if self._offsets is None:
            try:
                self._offsets = read_offsets(self._files, self._path)
            except CheckpointError as error:
                # Cleaning once more what is clean costs time, and nothing else.
                _log.warning("%s: what was cleaned is cleaned again", error)
                self._offsets = {}
        return self._offsets
