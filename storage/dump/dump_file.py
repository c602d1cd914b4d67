"""Any file of a log directory, shown by what its name says that it is."""

from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from odradek.storage.files.checkpoints import (
    CLEANER_OFFSETS_NAME,
    EPOCHS_NAME,
    HIGH_WATERMARKS_NAME,
    LOG_STARTS_NAME,
    RECOVERY_POINTS_NAME,
)
from odradek.storage.files.file_system import Files
from odradek.storage.files.meta_properties import META_PROPERTIES_NAME
from odradek.storage.files.partition_metadata import PARTITION_METADATA_NAME
from odradek.storage.values.file_names import (
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
)

from .index_dump import dump_index, dump_time_index, dump_transaction_index
from .known_ends import known_ends, marked
from .log_dump import Depth, base_offset_of_first, dump_log
from .row import Row, RowKind, damage, note
from .snapshot_dump import dump_snapshot
from .text_dump import (
    dump_clean_marker,
    dump_epoch_checkpoint,
    dump_meta_properties,
    dump_offset_checkpoint,
    dump_partition_metadata,
    dump_quarantine,
)

_TEXT_SIZE_MAX = 64 << 20
_STATE_SUFFIXES = (".deleted", ".cleaned", ".swap", ".tmp")


class FileKind(Enum):
    """What a file is, and the word for it."""

    LOG = "log"
    INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    SNAPSHOT = "snapshot"
    OFFSET_CHECKPOINT = "offset checkpoint"
    EPOCH_CHECKPOINT = "leader epoch checkpoint"
    QUARANTINE = "quarantine"
    PARTITION_METADATA = "partition metadata"
    META_PROPERTIES = "meta properties"
    CLEAN_MARKER = "clean shutdown marker"


_SUFFIXES = {
    LOG: FileKind.LOG,
    ".checkpoint": FileKind.LOG,  # a snapshot of KRaft's metadata: batches, too
    OFFSET_INDEX: FileKind.INDEX,
    TIME_INDEX: FileKind.TIME_INDEX,
    TRANSACTION_INDEX: FileKind.TRANSACTION_INDEX,
    ".snapshot": FileKind.SNAPSHOT,
}
_NAMES = {
    RECOVERY_POINTS_NAME: FileKind.OFFSET_CHECKPOINT,
    HIGH_WATERMARKS_NAME: FileKind.OFFSET_CHECKPOINT,
    LOG_STARTS_NAME: FileKind.OFFSET_CHECKPOINT,
    CLEANER_OFFSETS_NAME: FileKind.OFFSET_CHECKPOINT,
    EPOCHS_NAME: FileKind.EPOCH_CHECKPOINT,
    "quarantine": FileKind.QUARANTINE,
    PARTITION_METADATA_NAME: FileKind.PARTITION_METADATA,
    META_PROPERTIES_NAME: FileKind.META_PROPERTIES,
    ".kafka_cleanshutdown": FileKind.CLEAN_MARKER,
}
_DumpText: TypeAlias = Callable[[bytes], Iterator[Row]]
_TEXTS: dict[FileKind, _DumpText] = {
    FileKind.OFFSET_CHECKPOINT: dump_offset_checkpoint,
    FileKind.EPOCH_CHECKPOINT: dump_epoch_checkpoint,
    FileKind.QUARANTINE: dump_quarantine,
    FileKind.PARTITION_METADATA: dump_partition_metadata,
    FileKind.META_PROPERTIES: dump_meta_properties,
    FileKind.CLEAN_MARKER: dump_clean_marker,
}


def kind_of(name: str) -> FileKind | None:
    """What a file of that name is; None when it is none of a log directory's."""
    name = _without_state(name)
    return _NAMES.get(name) or _SUFFIXES.get(Path(name).suffix)


def known_names() -> str:
    """The names of files that can be shown, for people."""
    return ", ".join([*(f"*{suffix}" for suffix in _SUFFIXES), *_NAMES])


def dump_file(
    files: Files, path: Path, depth: Depth, size_max: int = 2**63
) -> Iterator[Row]:
    """The rows of a file, a `RowKind.FILE` first. Of a log, ``size_max`` bytes.

    Raises:
        ValueError: its name does not say what it is.
        FileNotFoundError, KafkaStorageError: it cannot be read.
    """
    kind = kind_of(path.name)
    if kind is None:
        raise ValueError(f"{path.name} is not the name of a file in a log directory")
    file = files.open(path)
    base_offset = _base_offset(path.name)
    head = {"file": str(path), "kind": kind.value, "size": file.size}
    if kind is FileKind.LOG and base_offset is None:
        base_offset = base_offset_of_first(file)
    if kind is FileKind.LOG:
        head["baseOffset"] = base_offset or 0
    yield Row(RowKind.FILE, dict(head))
    try:
        match kind:
            case FileKind.LOG:
                rows = dump_log(file, base_offset or 0, depth, size_max)
                yield from marked(rows, known_ends(files, path))
            case FileKind.INDEX | FileKind.TIME_INDEX:
                yield from _dump_index(files, path, kind, base_offset)
            case FileKind.TRANSACTION_INDEX:
                yield from dump_transaction_index(file)
            case FileKind.SNAPSHOT:
                yield from dump_snapshot(file)
            case _:
                yield from _dump_text(files, path, file.size, _TEXTS[kind])
    finally:
        file.close()


def _dump_index(
    files: Files, path: Path, kind: FileKind, base_offset: int | None
) -> Iterator[Row]:
    if base_offset is None:
        yield note("the name has no base offset: offsets are relative")
    index = files.open(path)
    if kind is FileKind.TIME_INDEX:
        yield from dump_time_index(index, base_offset or 0)
        return
    log_path = path.with_name(path.name.replace(OFFSET_INDEX, LOG, 1))
    log = files.open(log_path) if files.exists(log_path) else None
    yield from dump_index(index, base_offset or 0, log)


def _dump_text(files: Files, path: Path, size: int, dump: _DumpText) -> Iterator[Row]:
    if size > _TEXT_SIZE_MAX:
        yield damage(0, size, f"{size} bytes are too many for such a file")
    else:
        yield from dump(files.read_bytes(path))


def _base_offset(name: str) -> int | None:
    digits = name.partition(".")[0].partition("-")[0]
    if digits.isascii() and digits.isdecimal() and len(digits) <= 20:
        return int(digits)
    return None


def _without_state(name: str) -> str:
    for suffix in _STATE_SUFFIXES:
        name = name.removesuffix(suffix)
    return name
