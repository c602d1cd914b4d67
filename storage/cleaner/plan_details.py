"""What of a plan is read from the disk, and so not by the broker's loop."""

from pathlib import Path
from typing import TYPE_CHECKING

from odradek.storage.files.files import Files
from odradek.storage.indexes.transaction_index import TransactionIndex
from odradek.storage.values.file_names import (
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    segment_path,
)

from .plan import CleaningPlan

if TYPE_CHECKING:
    from odradek.storage.formats.transaction_entry import TransactionEntry


def with_details(files: Files, plan: CleaningPlan) -> CleaningPlan:
    """The plan with the sizes of indexes, and the transactions that were aborted.

    Raises:
        CorruptIndex: a transaction index cannot be believed.
    """
    directory = plan.directory
    aborted: list[TransactionEntry] = []
    for base_offset in plan.base_offsets:
        path = segment_path(directory, base_offset, TRANSACTION_INDEX)
        index = TransactionIndex(files, path, base_offset)
        aborted += index.entries()
        index.close()
    segments = tuple(
        each._replace(
            offset_index_size=_size(files, directory, each.base_offset, OFFSET_INDEX),
            time_index_size=_size(files, directory, each.base_offset, TIME_INDEX),
        )
        for each in plan.segments
    )
    return plan._replace(segments=segments, aborted=aborted)


def _size(files: Files, directory: Path, base_offset: int, kind: str) -> int:
    path = segment_path(directory, base_offset, kind)
    return files.size(path) if files.exists(path) else 0
