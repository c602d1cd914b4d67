"""A backup is written: copied, synced, examined, described, and only then named.

All of it is made in ``TARGET.partial``, which gets the name ``TARGET`` when everything
is durable: what is called so is whole. Closed segments become links where the target
is on the same file system; `storage.files.system_calls` keeps them what they are.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from odradek.protocol.checksum import crc32c
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.data_format import DATA_FORMAT
from odradek.storage.files.files import MISSING, File, Files
from odradek.storage.fsck.directory_check import DirectoryCheck
from odradek.storage.fsck.known import TopicFacts
from odradek.storage.fsck.report import Finding, Report, Severity

from .manifest import BackedUpFile, BackedUpPartition, BadBackup, Damage, Manifest
from .manifest import write_manifest as put_manifest
from .plan import BackupPlan, PlannedFile

PARTIAL: Final = ".partial"
CHUNK_SIZE: Final = 1 << 20

Progress = Callable[[int], None]


class Made(NamedTuple):
    """Which odradek made a backup, and when (ISO 8601, UTC)."""

    odradek: str
    made: str


class Examined(NamedTuple):
    """What fsck found: the offsets of each partition, and damage."""

    offsets: Mapping[tuple[int, TopicPartition], tuple[int, int]]
    damage: list[Damage]


def ignore(_: int) -> None:
    """For who does not want to know how far it is."""


class BackupWriter:
    """Writes what ``plan`` says to ``target``. One call after the other, in order."""

    def __init__(self, files: Files, plan: BackupPlan, target: Path) -> None:
        self.partial = target.with_name(target.name + PARTIAL)
        self.linked_size = 0
        self._files = files
        self._plan = plan
        self._target = target
        self._written: list[BackedUpFile] = []

    def begin(self) -> None:
        """Make the directories.

        Raises:
            KafkaStorageError: they cannot be made.
        """
        files = self._files
        files.rmtree(self.partial)
        for number in range(len(self._plan.directories)):
            files.mkdir(self.partial / str(number))
        for partition in self._plan.partitions:
            files.mkdir(self.partial / partition.name)

    def copy(self, progress: Progress = ignore) -> None:
        """Copy, or link, every file, and sync it. ``progress`` is told of bytes.

        Raises:
            FileNotFoundError: a file has gone.
            KafkaStorageError: a disk fails, or is full.
        """
        for planned in self._plan.files:
            self._written.append(self._copy_one(planned, progress))
        for name, data in self._plan.texts.items():
            file = self._files.open(self.partial / name, create=True)
            file.append(data)
            file.sync()
            file.close()
            self._written.append(BackedUpFile(name, len(data), crc32c(data)))
        for directory in sorted(
            {(self.partial / each.path).parent for each in self._written}
        ):
            self._files.sync_directory(directory)

    def add(self, name: str) -> None:
        """Take in a file that somebody else has put there, in the place of another."""
        path = self.partial / name
        found = BackedUpFile(
            name, self._files.size(path), checksum_of(self._files, path)
        )
        others = [each for each in self._written if each.path != name]
        self._written = [*others, found]

    def examine(self, topics: Mapping[str, TopicFacts] | None) -> Examined:
        """Check what was copied, as fsck does. ``topics``: those of the catalogue."""
        offsets: dict[tuple[int, TopicPartition], tuple[int, int]] = {}
        damage: list[Damage] = []
        for number in range(len(self._plan.directories)):
            for report in _reports(self._files, self.partial / str(number), topics):
                if report.kind == "partition":
                    place = _place(report.path)
                    found = report.log_start_offset, report.log_end_offset
                    offsets[number, place] = found
                damage += _damage(report, self.partial)
        return Examined(offsets, damage)

    def finish(self, examined: Examined, made: Made) -> Manifest:
        """Write the manifest, and give the backup its name.

        Raises:
            KafkaStorageError: the disk fails, or is full.
        """
        plan = self._plan
        partitions = []
        for each in plan.partitions:
            found = examined.offsets.get((each.directory, each.topic_partition), (0, 0))
            start, end = each.start_offset, each.end_offset
            partitions.append(
                BackedUpPartition(
                    each.topic_partition.topic,
                    each.topic_partition.partition,
                    each.directory,
                    found[0] if start is None else start,
                    found[1] if end is None else end,
                )
            )
        manifest = Manifest(
            odradek=made.odradek,
            made=made.made,
            cluster_id=plan.cluster_id,
            node_id=plan.node_id,
            was_running=plan.was_running,
            data_format=DATA_FORMAT,
            directories=[str(each) for each in plan.directories],
            partitions=partitions,
            files=self._written,
            damage=examined.damage,
            missing=dict(plan.missing),
        )
        for number in range(len(plan.directories)):
            self._files.sync_directory(self.partial / str(number))
        put_manifest(self._files, self.partial, manifest)
        self._files.rename(self.partial, self._target)
        self._files.sync_directory(self._target.parent)
        return manifest

    def abandon(self) -> None:
        """Remove what was written."""
        self._files.rmtree(self.partial)

    def _copy_one(self, planned: PlannedFile, progress: Progress) -> BackedUpFile:
        target = self.partial / planned.name
        if planned.is_closed and self._files.link(planned.source, target):
            file = self._files.open(target)
            self.linked_size += file.size
            found = _read_through(file, progress)
            file.sync()
            file.close()
            return replace(found, path=planned.name)
        size, crc = copy_file(
            self._files, planned.source, target, planned.size, progress
        )
        return BackedUpFile(planned.name, size, crc)


def copy_file(
    files: Files,
    source: Path,
    target: Path,
    size: int | None = None,
    progress: Progress = ignore,
) -> tuple[int, int]:
    """Copy the first ``size`` bytes of a file, and sync them: size and CRC-32C.

    Raises:
        FileNotFoundError: it has gone.
        BadBackup: it is shorter.
        KafkaStorageError: a disk fails, or is full.
    """
    origin = files.open(source)
    size = origin.size if size is None else size
    copy = files.open(target, create=True)
    try:
        crc = 0
        while copy.size < size:
            data = origin.read_at(copy.size, min(CHUNK_SIZE, size - copy.size))
            if not data:
                raise BadBackup(f"{source} ends at {copy.size}, and had {size} bytes")
            copy.append(data)
            crc = crc32c(data, crc)
            progress(len(data))
        copy.sync()
        return copy.size, crc
    finally:
        origin.close()
        copy.close()


def checksum_of(files: Files, path: Path) -> int:
    """The CRC-32C of a file."""
    file = files.open(path)
    try:
        return _read_through(file, ignore).crc32c
    finally:
        file.close()


def _read_through(file: File, progress: Progress) -> BackedUpFile:
    position, crc = 0, 0
    while data := file.read_at(position, CHUNK_SIZE):
        position += len(data)
        crc = crc32c(data, crc)
        progress(len(data))
    return BackedUpFile("", position, crc)


def _reports(
    files: Files, directory: Path, topics: Mapping[str, TopicFacts] | None
) -> Iterator[Report]:
    check = DirectoryCheck(files, directory, False)
    check.prepare()
    check.topics = topics
    yield from check.run()


def _place(path: Path) -> TopicPartition:
    topic, _, number = path.name.rpartition("-")
    return TopicPartition(topic, int(number))


def _damage(report: Report, root: Path) -> Iterator[Damage]:
    folder = os.path.relpath(report.path, root)
    for finding in report.findings:
        if finding.severity is Severity.DAMAGE:
            path = f"{folder}/{finding.file}" if finding.file else folder
            yield Damage(path, finding.code, _message(finding))


def _message(finding: Finding) -> str:
    place = finding.place
    if place.position is None:
        return finding.message
    return f"bytes {place.position} to {place.end}: {finding.message}"


__all__ = ["MISSING", "BackupWriter", "Examined", "Made", "checksum_of", "copy_file"]
