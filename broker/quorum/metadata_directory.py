"""The metadata log on a disk: ``__cluster_metadata-0``, as every node keeps it.

The newest whole snapshot is read, then the log behind it. All of the log counts: what
a voter had not yet agreed on when it stopped would have been agreed on later. Damage
inside is refused rather than passed over: a removal that is missed would bring a
topic back, and an option that is missed may delete records.
"""

from __future__ import annotations

import re
from itertools import starmap
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from odradek.storage.scan.batch_scan import BatchScan

from .image.error import MetadataLogError
from .snapshot_download import is_footer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from odradek.protocol.record_batch import BatchHeader
    from odradek.storage.files.files import Files
    from odradek.storage.scan.result import Recovery

METADATA_DIRECTORY: Final = "__cluster_metadata-0"

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)


class Target(Protocol):
    """What takes the batches in; it raises `MetadataLogError`."""

    def begin_snapshot(self, end_offset: int, epoch: int) -> None:
        """A state comes, of everything below ``end_offset``."""

    def end_snapshot(self) -> None:
        """The log behind it comes."""

    def apply(self, header: BatchHeader, batch: memoryview) -> None:
        """Take in a batch."""


Taken = TypeVar("Taken", bound=Target)


def read_metadata_log(
    files: Files, directory: Path, notes: list[str], make: Callable[[], Taken]
) -> Taken:
    """What ``make`` made, with all that snapshots and segments in ``directory`` say.

    ``notes`` take what was passed over: snapshots that are not whole, a torn tail.

    Raises:
        MetadataLogError: something is damaged, missing, or of a newer version.
    """
    names = files.listdir(directory)
    snapshots = sorted(filter(_SNAPSHOT.fullmatch, names), reverse=True)
    target, next_offset = make(), 0
    for name in snapshots:
        if _read_snapshot(files, directory / name, target, notes):
            next_offset = int(name[:20])
            break
    segments = sorted(filter(_SEGMENT.fullmatch, names))
    if not segments and not next_offset:
        raise MetadataLogError(f"{directory} has neither a snapshot nor a log")
    for name in segments:
        is_last = name == segments[-1]
        next_offset = _replay_segment(
            files, directory / name, target, next_offset, notes if is_last else None
        )
    return target


def _read_snapshot(files: Files, path: Path, target: Target, notes: list[str]) -> bool:
    """Whether the snapshot is whole, and taken in; a note says so if not."""
    scan = BatchScan(files.open(path), 0, 0)
    batches = [(header, batch) for _, header, batch in scan]
    if not scan.recovery().is_clean or not any(starmap(is_footer, batches)):
        notes.append(f"{path} is not a whole snapshot; an older one is used")
        return False
    target.begin_snapshot(int(path.name[:20]), int(path.name[21:31]))
    for header, batch in batches:
        _apply(target, path, header, batch)
    target.end_snapshot()
    return True


def _replay_segment(
    files: Files,
    path: Path,
    target: Target,
    next_offset: int,
    notes: list[str] | None,
) -> int:
    """Apply the segment's records from ``next_offset`` on; where the next begins.

    ``notes`` take a torn tail, which only the last segment may have.
    """
    scan = BatchScan(files.open(path), 0, int(path.name[:20]))
    for _, header, batch in scan:
        if header.next_offset <= next_offset:
            continue  # the snapshot has it
        if header.base_offset != next_offset:
            break
        _apply(target, path, header, batch)
        next_offset = header.next_offset
    else:
        _check_end(path, scan.recovery(), notes)
        return next_offset
    for _ in scan:  # to its end, to tell damage from what was never there
        pass
    _check_end(path, scan.recovery(), notes)
    raise MetadataLogError(f"{path}: what was at offset {next_offset} is missing")


def _check_end(path: Path, recovery: Recovery, notes: list[str] | None) -> None:
    damaged = [(each.start, each.end) for each in recovery.damaged]
    if notes is None and recovery.is_torn:
        damaged.append((recovery.valid_end, recovery.size))
    for start, end in damaged:
        raise MetadataLogError(f"{path} is damaged at positions {start} to {end}")
    if notes is not None and recovery.is_torn:
        notes.append(
            f"{path} has a torn tail at position {recovery.valid_end}, which is left"
            " out"
        )


def _apply(target: Target, path: Path, header: BatchHeader, batch: memoryview) -> None:
    try:
        target.apply(header, batch)
    except MetadataLogError as error:
        raise MetadataLogError(f"{path}: {error}") from error


def find_metadata_directory(path: Path) -> Path | None:
    """The directory of the metadata log in, or at, ``path``."""
    candidates = (path / METADATA_DIRECTORY, path)
    for candidate in candidates:
        if candidate.name == METADATA_DIRECTORY and candidate.is_dir():
            return candidate
    return None
