"""A backup becomes data directories again, or is compared with its manifest.

Every byte is compared with the manifest on its way. A directory says that it is
unfinished until all of it is there, durable and examined; who serves it before is
refused (`storage.directory.data_format`).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid
from odradek.storage.directory.data_format import DATA_FORMAT, with_this_format
from odradek.storage.files.checkpoints import read_offsets, write_offsets
from odradek.storage.files.files import MISSING, Files
from odradek.storage.files.meta_properties import (
    META_PROPERTIES_NAME,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from odradek.storage.formats.checkpoint import CheckpointError

from .manifest import BackedUpFile, BadBackup, Manifest
from .plan import CHECKPOINT_NAMES
from .writing import Progress, checksum_of, copy_file, ignore

_UNFINISHED: Final = "a restore"
_NOT_DATA: Final = frozenset({"lost+found"})


class Fault(NamedTuple):
    """What is wrong with a file of a backup."""

    path: str
    message: str


def faults_of(
    files: Files, backup: Path, manifest: Manifest, progress: Progress = ignore
) -> Iterator[Fault]:
    """What differs from the manifest, file by file; nothing if all is as it was."""
    for each in manifest.files:
        message = _fault(files, backup / each.path, each)
        progress(each.size)
        if message is not None:
            yield Fault(each.path, message)


def _fault(files: Files, path: Path, known: BackedUpFile) -> str | None:
    try:
        size = files.size(path)
        if size != known.size:
            return f"has {size} bytes, and had {known.size}"
        if checksum_of(files, path) != known.crc32c:
            return "is damaged: its checksum does not match"
    except MISSING:
        return "is missing"
    return None


class Restore:
    """Copies a backup into ``targets``: as many as it has, or one for all of it."""

    def __init__(
        self, files: Files, backup: Path, manifest: Manifest, targets: Sequence[Path]
    ) -> None:
        self.targets = targets
        self._files = files
        self._backup = backup
        self._manifest = manifest
        self._made: list[Path] = []

    def check(self) -> None:
        """See that it can be done; nothing is changed.

        Raises:
            BadBackup: it cannot; the message says why.
        """
        count, found = len(self._manifest.directories), self._manifest.data_format
        if found > DATA_FORMAT:
            raise BadBackup(
                f"{self._backup} has data format {found}, written by odradek "
                f"{self._manifest.odradek}; this one reads formats up to {DATA_FORMAT}"
            )
        if len(self.targets) not in (1, count):
            raise BadBackup(
                f"the backup has {count} log directories ("
                f"{', '.join(self._manifest.directories)}): name one directory for all"
                f" of it, or {count}"
            )
        if len(set(map(Path.resolve, self.targets))) < len(self.targets):
            raise BadBackup("a directory is named twice")
        for target in self.targets:
            if self._files.exists(target) and (there := self._content(target)):
                raise BadBackup(f"{target} is not empty: it has {there[0]}")

    def run(self, progress: Progress = ignore) -> None:
        """Copy all files. The directories are unfinished afterwards.

        Raises:
            BadBackup: a file is missing, or is not what it was.
            KafkaStorageError: a disk fails, or is full.
        """
        files = self._files
        for number, target in enumerate(self.targets):
            if not files.exists(target):
                files.mkdir(target)
                self._made.append(target)
            identity = self._identity(number)._replace(unfinished=_UNFINISHED)
            write_meta_properties(files, target, identity)
        folders: set[Path] = set()
        for each in self._manifest.files:
            source = self._backup / each.path
            place = self._target_of(each.path)
            if place is None:
                self._compare(source, each)
                continue
            if place.parent not in folders:
                files.mkdir(place.parent)
                folders.add(place.parent)
            try:
                found = copy_file(files, source, place, None, progress)
            except MISSING:
                raise BadBackup(f"{source} is missing") from None
            if found != (each.size, each.crc32c):
                self._compare(source, each)
                raise BadBackup(f"{source} cannot be read alike twice")
        self._write_checkpoints()
        for folder in sorted(folders):
            files.sync_directory(folder)

    def finish(self) -> None:
        """Let the directories be served: they are whole. The catalogue's comes last."""
        for number, target in reversed(list(enumerate(self.targets))):
            write_meta_properties(self._files, target, self._identity(number))
            self._files.sync_directory(target.parent)

    def abandon(self) -> None:
        """Remove what was written, and the directories that were made for it."""
        for target in self.targets:
            if target in self._made:
                self._files.rmtree(target)
            elif self._files.exists(target):
                for name in self._content(target):
                    self._remove(target / name)

    def _compare(self, source: Path, known: BackedUpFile) -> None:
        message = _fault(self._files, source, known)
        if message is not None:
            raise BadBackup(f"{source} {message}")

    def _remove(self, path: Path) -> None:
        try:
            self._files.listdir(path)
        except NotADirectoryError:
            self._files.unlink(path)
        else:
            self._files.rmtree(path)

    def _content(self, target: Path) -> list[str]:
        return [each for each in self._files.listdir(target) if each not in _NOT_DATA]

    def target_number(self, directory: int) -> int:
        """Which of the targets has what was in a log directory of the backup."""
        return directory if len(self.targets) > 1 else 0

    def _target_of(self, path: str) -> Path | None:
        """Where a file goes; None if it is written anew."""
        number, _, rest = path.partition("/")
        if rest == META_PROPERTIES_NAME or rest in CHECKPOINT_NAMES:
            return None
        return self.targets[self.target_number(int(number))] / rest

    def _identity(self, number: int) -> MetaProperties:
        """That of the directory, or a new one: log directories of one broker differ."""
        manifest = self._manifest
        found = read_meta_properties(self._files, self._backup / str(number))
        if found is None or found.directory_id is None:
            found = MetaProperties(
                manifest.cluster_id, manifest.node_id, self._new_id(number)
            )
        return with_this_format(found)

    def _new_id(self, number: int) -> bytes:
        there = read_meta_properties(self._files, self.targets[number])
        known = None if there is None else there.directory_id
        return random_uuid() if known is None else known

    def _write_checkpoints(self) -> None:
        for number, target in enumerate(self.targets):
            for name in CHECKPOINT_NAMES:
                merged: dict[TopicPartition, int] = {}
                for directory in range(len(self._manifest.directories)):
                    if self.target_number(directory) == number:
                        merged.update(self._offsets(directory, name))
                write_offsets(self._files, target / name, merged)

    def _offsets(self, directory: int, name: str) -> dict[TopicPartition, int]:
        """What a checkpoint of the backup says: nothing, if it was damaged before."""
        try:
            return read_offsets(self._files, self._backup / str(directory) / name)
        except CheckpointError:
            return {}
