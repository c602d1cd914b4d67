"""What a round of cleaning leaves when it is given up: files named ``.cleaned``."""

from odradek.storage.files.files import Files
from odradek.storage.values.file_names import CLEANED, SEGMENT_KINDS, segment_path

from .plan import CleaningPlan


def give_up(files: Files, plan: CleaningPlan, base_offset: int) -> None:
    """Remove what was written of a segment."""
    for kind in SEGMENT_KINDS:
        path = segment_path(plan.directory, base_offset, kind + CLEANED)
        if files.exists(path):
            files.unlink(path)


def remove_unfinished(files: Files, plan: CleaningPlan) -> None:
    """Remove what a round has written that was not taken."""
    for segment in plan.segments:
        give_up(files, plan, segment.base_offset)
