"""Up to where a log is known to be durable, and replicated: what is behind is marked.

The checkpoints beside a partition's directory say it, as they were written last; of
what has become durable since they say nothing. After a clean stop nothing is behind.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.storage.directory.log_directory import (
    CLEAN_MARKER_NAME,
    DirectoryKind,
    parse_directory_name,
)
from odradek.storage.files.checkpoints import (
    HIGH_WATERMARKS_NAME,
    RECOVERY_POINTS_NAME,
    read_offsets,
)
from odradek.storage.files.file_system import Files
from odradek.storage.formats.checkpoint import CheckpointError

from .row import Row, RowKind, note

_MEANINGS = {
    RECOVERY_POINTS_NAME: "not known to be durable",
    HIGH_WATERMARKS_NAME: "above the high watermark, shown to no consumer",
}


class KnownEnd(NamedTuple):
    """What holds from ``offset`` on, as ``checkpoint`` says."""

    offset: int
    checkpoint: str


def known_ends(files: Files, log_path: Path) -> list[KnownEnd]:
    """The ends of the log that a segment belongs to, in order; none when nobody says.

    A checkpoint that cannot be read says nothing.
    """
    directory = log_path.parent
    parsed = parse_directory_name(directory.name)
    if parsed is None or parsed.kind is not DirectoryKind.LOG:
        return []
    if files.exists(directory.parent / CLEAN_MARKER_NAME):
        return []
    found = []
    for name in _MEANINGS:
        path = directory.parent / name
        if not files.exists(path):
            continue
        try:
            offsets = read_offsets(files, path)
        except CheckpointError:
            continue
        found.append(KnownEnd(offsets.get(parsed.topic_partition, 0), name))
    return sorted(found)


def marked(rows: Iterable[Row], ends: Sequence[KnownEnd]) -> Iterator[Row]:
    """The rows, and before the first batch behind each of the ends a note."""
    left = list(ends)
    for row in rows:
        last_offset = row.fields.get("lastOffset")
        if row.kind is RowKind.BATCH and isinstance(last_offset, int):
            while left and last_offset >= (offset := left[0].offset):
                reached = [each.checkpoint for each in left if each.offset == offset]
                del left[: len(reached)]
                meaning = ", and ".join(_MEANINGS[name] for name in reached)
                names = " and ".join(reached)
                end = "ends" if len(reached) == 1 else "end"
                reason = f"what follows is {meaning}: {names} {end} at {offset}"
                yield note(reason, offset=offset)
        yield row
