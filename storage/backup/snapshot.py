"""A snapshot: what a broker held, in the shape in which a clean stop leaves it.

It is laid out like a backup, with a marker of a clean stop in each log directory. All
records are in sealed segments, which share their bytes with those of the broker where
the file system can; so whoever is started in a copy of it recovers nothing, and reads
nothing before it is asked.

``snapshot.json`` says which files there are, and how large. It is not made durable: a
snapshot is material for tests, and a power cut ends those.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from odradek.storage.directory.data_format import DATA_FORMAT
from odradek.storage.directory.log_directory import CLEAN_MARKER, CLEAN_MARKER_NAME
from odradek.storage.files.files import Files
from odradek.storage.values.file_names import OFFSET_INDEX, TIME_INDEX

from .plan import BackupPlan, PlannedFile, plan_running
from .writing import CHUNK_SIZE, PARTIAL, Made

SNAPSHOT_NAME: Final = "snapshot.json"
SNAPSHOT_FORMAT: Final = 1


class Written(NamedTuple):
    """What a snapshot takes: ``shared_size`` of its bytes are those of the broker."""

    file_count: int
    size: int
    shared_size: int


def plan_snapshot(
    files: Files, cut: Mapping[str, Any], held: Sequence[Mapping[str, Any]]
) -> BackupPlan:
    """What to put into a snapshot: ``cut`` and ``held`` as `plan_running` takes them.

    Raises:
        FileNotFoundError: the broker has let go.
        KafkaStorageError: a directory cannot be read.
    """
    plan = plan_running(files, cut, held)
    for number in range(len(plan.directories)):
        plan.texts[f"{number}/{CLEAN_MARKER_NAME}"] = CLEAN_MARKER
    for partition, each in zip(plan.partitions, held, strict=True):
        for kind in (OFFSET_INDEX, TIME_INDEX):
            # Of a segment in which there is nothing yet: a clean stop leaves them.
            plan.texts[f"{partition.name}/{each['activeBase']:020d}{kind}"] = b""
    return plan


class SnapshotWriter:
    """Writes what ``plan`` says to ``target``, which nobody sees before it is whole."""

    def __init__(self, files: Files, plan: BackupPlan, target: Path) -> None:
        self.partial = target.with_name(target.name + PARTIAL)
        self._files = files
        self._plan = plan
        self._target = target
        self._sizes: dict[str, int] = {}
        self._sealed: list[str] = []
        self._shared_size = 0

    def write(self, made: Made) -> Written:
        """Write all of it. For a disk thread.

        Raises:
            FileNotFoundError: the broker has let go.
            KafkaStorageError: a disk fails, or is full.
        """
        files, plan = self._files, self._plan
        files.rmtree(self.partial)
        for name in self._folders():
            files.mkdir(self.partial / name)
        for planned in plan.files:
            self._place(planned)
        for name, data in plan.texts.items():
            self._put(name, [data])
        content = {
            "snapshot_format": SNAPSHOT_FORMAT,
            "data_format": DATA_FORMAT,
            **made._asdict(),
            "directories": len(plan.directories),
            "sealed": self._sealed,
            "files": self._sizes,
        }
        written = Written(
            len(self._sizes), sum(self._sizes.values()), self._shared_size
        )
        self._put(SNAPSHOT_NAME, [json.dumps(content, indent=1).encode() + b"\n"])
        files.rename(self.partial, self._target)
        return written

    def abandon(self) -> None:
        """Remove what was written."""
        self._files.rmtree(self.partial)

    def _folders(self) -> list[str]:
        numbers = range(len(self._plan.directories))
        return [*map(str, numbers), *(each.name for each in self._plan.partitions)]

    def _place(self, planned: PlannedFile) -> None:
        name = planned.name
        if planned.is_closed:
            self._sealed.append(name)
            if self._files.share(planned.source, self.partial / name):
                self._sizes[name] = size = self._files.size(self.partial / name)
                self._shared_size += size
                return
        self._put(name, self._pieces(planned))

    def _pieces(self, planned: PlannedFile) -> Iterable[memoryview]:
        file = self._files.open(planned.source)
        end = file.size if planned.size is None else planned.size
        for position in range(0, end, CHUNK_SIZE):
            yield file.read_at(position, min(CHUNK_SIZE, end - position))
        file.close()

    def _put(self, name: str, pieces: Iterable[bytes | memoryview]) -> None:
        file = self._files.open(self.partial / name, create=True)
        for piece in pieces:
            file.append(piece)
        self._sizes[name] = file.size
        file.close()
