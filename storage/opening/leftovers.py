"""What an interrupted broker leaves in a partition's directory, put in order.

- ``.deleted``: removed segments whose files were still there. They go.
- ``.cleaned``: segments that the cleaner had not finished. They go, and with them the
  ``.swap`` files from that offset on, which belong to the same unfinished round.
- ``.swap``: finished segments that were to replace others. They do so now, or are
  removed when they are damaged (`interrupted_swap`).
- ``.tmp``: files that were being replaced. The old ones are whole.
- indexes without a log, and snapshots that no recovery would start from. They go.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from odradek.storage.files.files import Files
from odradek.storage.producers.snapshot import list_snapshots, snapshot_path
from odradek.storage.values.file_names import (
    CLEANED,
    DELETED,
    LOG,
    SEGMENT_KINDS,
    SWAP,
    TRANSACTION_INDEX,
    base_offset_of,
    is_segment_file,
    segment_bases,
)
from odradek.storage.values.log_lines import LogLines

from .interrupted_swap import settle_swaps

_TEMPORARY = ".tmp"

_log = logging.getLogger(__name__)


class Leftovers(NamedTuple):
    """What was found: whether names have changed, and segments of which the log lacks.

    ``names`` are those that are there now, ``missing_bases`` the base offsets of
    indexes without a log.
    """

    names: list[str]
    has_new_names: bool
    missing_bases: list[int]


def remove_leftovers(files: Files, directory: Path) -> Leftovers:
    """Finish or undo what was interrupted."""
    before = names = files.listdir(directory)
    kept, lines = _still_needed(before), LogLines(_log, directory)
    for name in kept:
        lines.warning("%s: its log is still there; it is kept", name)
        files.rename(directory / name, directory / name.removesuffix(DELETED))
    ours = [name for name in before if is_segment_file(name)]
    _remove_unfinished(files, directory, ours)
    if any(name.endswith(SWAP) for name in ours):
        settle_swaps(files, directory)  # which may need what is to be deleted
        names = files.listdir(directory)
    gone = [name for name in names if name.endswith((DELETED, _TEMPORARY))]
    for name in gone:
        if name not in kept:
            files.unlink(directory / name)
    if gone or any(name.endswith(CLEANED) for name in ours):
        names = files.listdir(directory)
    orphans = _remove_orphans(files, directory, names)
    # Of a segment that was being removed the log has gone first.
    removed = {base_offset_of(name) for name in before if _is_removed_log(name)}
    missing_bases = sorted(set(map(base_offset_of, orphans)) - removed)
    names = [name for name in names if name not in orphans]
    return Leftovers(names, names != before, missing_bases)


def stray_snapshots(offsets: Iterable[int], base_offsets: Iterable[int]) -> set[int]:
    """The snapshots to remove: beside no segment, and not the newest of all."""
    bases = set(base_offsets)
    strays = set(offsets) - bases
    newest = max(strays, default=-1)
    if newest > max(bases, default=-1):
        strays.discard(newest)
    return strays


def remove_stray_snapshots(
    files: Files, directory: Path, base_offsets: Iterable[int], limit: int
) -> bool:
    """Remove the strays, and all above ``limit``. Returns whether there were any."""
    offsets = list_snapshots(files, directory)
    above = {offset for offset in offsets if offset > limit}
    gone = above | stray_snapshots(set(offsets) - above, base_offsets)
    for offset in gone:
        files.unlink(snapshot_path(directory, offset))
    return bool(gone)


def _is_removed_log(name: str) -> bool:
    return is_segment_file(name) and name.endswith(LOG + DELETED)


def _still_needed(names: list[str]) -> list[str]:
    """Transaction indexes that were to be deleted, and whose logs were not.

    A power cut may keep one change of names and not the other.
    """
    logs = set(segment_bases(names))
    return [
        name
        for name in names
        if name.endswith(TRANSACTION_INDEX + DELETED)
        and base_offset_of(name) in logs
        and name.removesuffix(DELETED) not in names
    ]


def _remove_unfinished(files: Files, directory: Path, names: list[str]) -> None:
    cleaned = [name for name in names if name.endswith(CLEANED)]
    if not cleaned:
        return
    first = min(map(base_offset_of, cleaned))
    swaps = [name for name in names if name.endswith(SWAP)]
    for name in cleaned + [name for name in swaps if base_offset_of(name) >= first]:
        LogLines(_log, directory).warning("%s was not finished: removed", name)
        files.unlink(directory / name)


def _remove_orphans(files: Files, directory: Path, names: list[str]) -> list[str]:
    names = list(filter(is_segment_file, names))
    logs = set(segment_bases(names))
    orphans = [
        name
        for name in names
        if name.endswith(SEGMENT_KINDS) and base_offset_of(name) not in logs
    ]
    for name in orphans:
        LogLines(_log, directory).warning("%s is an index without a log: removed", name)
        files.unlink(directory / name)
    return orphans
