"""What a backup is made of: which files, how much of each, and what they are.

Paths in a backup are relative: a log directory is a number, ``0`` the first of them,
and a partition's directory in it has the name that it always has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directory import (
    DirectoryKind,
    parse_directory_name,
)
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSETS_NAME,
    HIGH_WATERMARKS_NAME,
    LOG_STARTS_NAME,
    RECOVERY_POINTS_NAME,
)
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import META_PROPERTIES_NAME
from odradek.storage.formats.checkpoint import format_offsets
from odradek.storage.formats.transaction_entry import (
    TRANSACTION_ENTRY_SIZE,
    parse_transaction_index,
)
from odradek.storage.values.file_names import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    base_offset_of,
    is_segment_file,
    segment_bases,
)

CHECKPOINT_NAMES: Final = (
    RECOVERY_POINTS_NAME,
    LOG_STARTS_NAME,
    HIGH_WATERMARKS_NAME,
    CLEANER_OFFSETS_NAME,
)
_TEMPORARY: Final = ".tmp"


class PlannedFile(NamedTuple):
    """A file to copy: its first ``size`` bytes, or all. ``is_closed``: a link will do.

    A closed file is changed no more but by who makes a copy of it first.
    """

    source: Path
    name: str  # in the backup
    size: int | None = None
    is_closed: bool = False


class PlannedPartition(NamedTuple):
    """A partition; the offsets of a stopped broker's are known when it was copied."""

    topic_partition: TopicPartition
    directory: int
    start_offset: int | None = None
    end_offset: int | None = None

    @property
    def name(self) -> str:
        """Its directory in the backup."""
        return f"{self.directory}/{self.topic_partition}"


@dataclass
class BackupPlan:
    """All of it. ``texts`` are small files that are written anew, by their names.

    ``missing`` says which partitions are not in it, and why.
    """

    cluster_id: str
    node_id: int
    directories: Sequence[Path]
    was_running: bool
    partitions: list[PlannedPartition] = field(default_factory=list)
    files: list[PlannedFile] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def plan_running(
    files: Files, cut: Mapping[str, Any], held: Sequence[Mapping[str, Any]]
) -> BackupPlan:
    """What a running broker holds: ``cut`` says what it is, ``held`` each partition.

    Raises:
        FileNotFoundError: the broker has let go.
        KafkaStorageError: a directory cannot be read.
    """
    directories = [Path(each) for each in cut["directories"]]
    plan = BackupPlan(
        cut["clusterId"], cut["nodeId"], directories, True, missing=cut["missing"]
    )
    plan.files.append(PlannedFile(Path(cut["catalog"]), "0/catalog.db"))
    offsets: list[dict[str, dict[TopicPartition, int]]] = [
        {name: {} for name in CHECKPOINT_NAMES} for _ in directories
    ]
    for each in held:
        place = TopicPartition(each["topic"], each["partition"])
        path = Path(each["held"])
        number = directories.index(path.parent)
        start, end = each["startOffset"], each["endOffset"]
        planned = PlannedPartition(place, number, start, end)
        plan.partitions.append(planned)
        plan.files += _held_files(files, path, planned.name, each)
        known = offsets[number]
        known[RECOVERY_POINTS_NAME][place] = end
        known[HIGH_WATERMARKS_NAME][place] = end
        if start:
            known[LOG_STARTS_NAME][place] = start
        if each["cleanOffset"] is not None:
            known[CLEANER_OFFSETS_NAME][place] = each["cleanOffset"]
    for number, directory in enumerate(directories):
        name = META_PROPERTIES_NAME
        if files.exists(directory / name):
            plan.files.append(PlannedFile(directory / name, f"{number}/{name}"))
        for name, found in offsets[number].items():
            plan.texts[f"{number}/{name}"] = format_offsets(found).encode()
    return plan


def _held_files(
    files: Files, path: Path, name: str, held: Mapping[str, Any]
) -> Iterator[PlannedFile]:
    """Of the segment that was active only what is below the cut."""
    active: int = held["activeBase"]
    for each in files.listdir(path):
        target = f"{name}/{each}"
        if not is_segment_file(each):
            yield PlannedFile(path / each, target)
        elif base_offset_of(each) != active:
            yield PlannedFile(path / each, target, None, is_closed=True)
        elif each.endswith(LOG):
            yield PlannedFile(path / each, target, held["activeSize"])
        elif each.endswith(TRANSACTION_INDEX):
            size = _entries_size(files, path / each, held["endOffset"])
            yield PlannedFile(path / each, target, size)
        # Its other indexes are made from the log when that is opened.


def _entries_size(files: Files, path: Path, end_offset: int) -> int:
    """The bytes of the aborted transactions that end below ``end_offset``."""
    data = files.read_bytes(path)
    whole = len(data) - len(data) % TRANSACTION_ENTRY_SIZE
    entries = parse_transaction_index(data[:whole])
    below = [entry for entry in entries if entry.last_offset < end_offset]
    return len(below) * TRANSACTION_ENTRY_SIZE


def plan_stopped(
    files: Files,
    directories: Sequence[Path],
    catalog_directory: Path,
    identity: tuple[str, int],
) -> BackupPlan:
    """All files of a broker that is not running, as they are.

    Who calls it holds the locks of the directories.

    Raises:
        KafkaStorageError: a directory cannot be read.
    """
    plan = BackupPlan(*identity, directories, False)
    for name in files.listdir(catalog_directory):
        if name in ("catalog.db", "catalog.db-wal", "catalog.backup"):
            plan.files.append(PlannedFile(catalog_directory / name, f"0/{name}"))
    for number, directory in enumerate(directories):
        for name in files.listdir(directory):
            parsed = parse_directory_name(name)
            if name in (*CHECKPOINT_NAMES, META_PROPERTIES_NAME):
                plan.files.append(PlannedFile(directory / name, f"{number}/{name}"))
            elif parsed is not None and parsed.kind is DirectoryKind.LOG:
                planned = PlannedPartition(parsed.topic_partition, number)
                plan.partitions.append(planned)
                plan.files += _stopped_files(files, directory / name, planned.name)
    return plan


def _stopped_files(files: Files, path: Path, name: str) -> Iterator[PlannedFile]:
    names = files.listdir(path)
    last = max(segment_bases(names), default=0)
    for each in names:
        if each.endswith((DELETED, _TEMPORARY)):
            continue
        is_closed = (
            is_segment_file(each)
            and each.endswith((LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX))
            and base_offset_of(each) < last
        )
        yield PlannedFile(path / each, f"{name}/{each}", None, is_closed)
