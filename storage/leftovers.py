"""What an interrupted broker leaves in a partition's directory, put in order.

- ``.deleted``: removed segments whose files were still there. They go.
- ``.cleaned``: segments that the cleaner had not finished. They go, and with them the
  ``.swap`` files from that offset on, which belong to the same unfinished round.
- ``.swap``: finished segments that were to replace others. They do so now.
- ``.tmp``: files that were being replaced. The old ones are whole.
- indexes without a log, and snapshots that no recovery would start from. They go.
"""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .batch_scan import BatchScan
from .files import Files
from .log_files import DELETED, LOG, SEGMENT_KINDS, base_offset_of
from .producer_snapshot import list_snapshots, snapshot_path

CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

_TEMPORARY = ".tmp"

_log = logging.getLogger(__name__)


def remove_leftovers(files: Files, directory: Path) -> bool:
    """Finish or undo what was interrupted. Returns whether names have changed."""
    before = files.listdir(directory)
    for name in before:
        if name.endswith((DELETED, _TEMPORARY)):
            files.unlink(directory / name)
    _remove_unfinished(files, directory, before)
    _finish_swaps(files, directory)
    _remove_orphans(files, directory)
    return files.listdir(directory) != before


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


def _remove_unfinished(files: Files, directory: Path, names: list[str]) -> None:
    cleaned = [name for name in names if name.endswith(CLEANED)]
    if not cleaned:
        return
    first = min(map(base_offset_of, cleaned))
    swaps = [name for name in names if name.endswith(SWAP)]
    for name in cleaned + [name for name in swaps if base_offset_of(name) >= first]:
        _log.warning("%s was not finished: removed", directory / name)
        files.unlink(directory / name)


def _finish_swaps(files: Files, directory: Path) -> None:
    """Remove the segments that the swapped ones replace, then rename these.

    Renamed first, a crash between could leave both.
    """
    names = files.listdir(directory)
    swaps = [name for name in names if name.endswith(SWAP)]
    logs = [name for name in swaps if name.endswith(LOG + SWAP)]
    if logs:
        first = min(map(base_offset_of, logs))
        end = max(_next_offset(files, directory / name) for name in logs)
        for name in names:
            if name.endswith(SEGMENT_KINDS) and first <= base_offset_of(name) < end:
                files.unlink(directory / name)
    for name in swaps:
        _log.warning("%s was not in place yet: renamed", directory / name)
        files.rename(directory / name, directory / name.removesuffix(SWAP))


def _next_offset(files: Files, path: Path) -> int:
    base_offset = base_offset_of(path.name)
    scan = BatchScan(files.open(path), 0, base_offset, False)
    for _ in scan:
        pass
    return scan.recovery().next_offset


def _remove_orphans(files: Files, directory: Path) -> None:
    names = files.listdir(directory)
    logs = {base_offset_of(name) for name in names if name.endswith(LOG)}
    for name in names:
        if name.endswith(SEGMENT_KINDS) and base_offset_of(name) not in logs:
            _log.warning("%s is an index without a log: removed", directory / name)
            files.unlink(directory / name)
