"""A cleaned segment takes the place of those that it was made of.

The steps, so that a kill or a power cut between any two leaves the old segments or the
new one, and `leftovers` knows which:

1. the new files are there, synced, with names that end in ``.cleaned``: undone;
2. they are renamed to ``.swap``, and the names synced: finished;
3. the old ones are renamed to ``.deleted``;
4. the new ones to their own names. Several old ones must be gone by then: one that a
   power cut brings back would hide what lies behind it in the new one.
"""

from typing import TYPE_CHECKING

from .log_files import CLEANED, SWAP
from .log_segment import LogSegment
from .producer_snapshot import snapshot_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .unified_log import UnifiedLog


def replace_segments(
    log: "UnifiedLog", base_offset: int, replaced: "Sequence[int]", now_ms: int
) -> list[LogSegment]:
    """Take the ``.cleaned`` segment at ``base_offset`` in, and the old ones out.

    Returns the old ones, whose files are to be removed when nobody can read them any
    more. ``replaced`` are their base offsets, the first that of the new one.

    Raises:
        StorageFailure: the log must `fail` with it.
    """
    local = log.local
    new = LogSegment(
        local.files, local.directory, base_offset, local.config, now_ms, False, CLEANED
    )
    new.rename(SWAP)
    local.files.sync_directory(local.directory)
    old = [each for base in replaced if (each := local.segments.get(base)) is not None]
    local.remove_segments(old)
    if len(old) > 1:
        local.files.sync_directory(local.directory)
    new.rename("")
    local.segments.add(new)
    local.files.sync_directory(local.directory)
    for base in replaced:
        path = snapshot_path(local.directory, base)
        if base != base_offset and local.files.exists(path):
            local.files.unlink(path)
    return old
