"""The names in a partition's directory: what belongs to the log, and what does not."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from odradek.storage.files.checkpoints import EPOCHS_NAME
from odradek.storage.files.partition_metadata import PARTITION_METADATA_NAME
from odradek.storage.producers.snapshot import snapshot_offset
from odradek.storage.values.file_names import LOG, SEGMENT_KINDS, base_offset_of

from .known import Known
from .report import Findings, Severity

_SIDE_FILES: Final = (EPOCHS_NAME, PARTITION_METADATA_NAME, "quarantine")
_LEFTOVERS: Final = {
    ".deleted": "a deleted file, to be removed soon or by the next start",
    ".cleaned": "of a compaction that runs; or was interrupted: a start removes it",
    ".swap": "a compacted segment; the next start puts it in its place",
    ".tmp": "a file that was being replaced; the next start removes it",
}
_SEGMENT_FILE = re.compile(r"\d{20}(\.[a-z]+)", re.ASCII)


@dataclass
class Listing:
    """Base offsets of the logs and offsets of the snapshots, ascending; the others."""

    logs: list[int] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def tell(self, findings: Findings, known: Known) -> None:
        """Report what does not belong there."""
        for suffix, reason in _LEFTOVERS.items():
            names = [name for name in self.leftovers if name.endswith(suffix)]
            if len(names) > 1:  # retention leaves three for each segment
                reason += f" (and {len(names) - 1} others like it)"
            if names:
                findings.note("leftover", names[0], reason)
        for name in self.strangers:
            findings.note("stranger", name, "is not a file of a log; it is left alone")
        for name in self.orphans:
            base_offset = base_offset_of(name)
            log = f"{base_offset:020d}{LOG}"
            # Segments that are removed lose their log first; and what lies below
            # the log start is no loss in any case.
            is_removed = f"{log}.deleted" in self.leftovers
            is_below = base_offset < max(self.logs[:1] + [known.log_start_offset or 0])
            severity = Severity.NOTE if is_removed or is_below else Severity.DAMAGE
            findings.add(severity, "orphan", name, f"its log {log} is missing")


def list_partition(names: Iterable[str]) -> Listing:
    """Sort the names in a partition's directory."""
    listing = Listing()
    indexes = []
    for name in names:
        match = _SEGMENT_FILE.fullmatch(name)
        if name.endswith(tuple(_LEFTOVERS)):
            listing.leftovers.append(name)
        elif match is not None and match[1] == LOG:
            listing.logs.append(base_offset_of(name))
        elif match is not None and match[1] in SEGMENT_KINDS:
            indexes.append(name)
        elif (offset := snapshot_offset(name)) is not None:
            listing.snapshots.append(offset)
        elif name not in _SIDE_FILES:
            listing.strangers.append(name)
    listing.logs.sort()
    listing.snapshots.sort()
    bases = set(listing.logs)
    listing.orphans = [name for name in indexes if base_offset_of(name) not in bases]
    return listing
