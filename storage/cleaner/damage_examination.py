"""How far damage reaches that a round has met; apart from the log, which goes on."""

from typing import TYPE_CHECKING

from odradek.storage.segment.damage_extent import find_extent
from odradek.storage.segment.log_segment import LogSegment

from .plan import DamageFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.storage.log.unified_log import UnifiedLog
    from odradek.storage.segment.damage_extent import Damage


def examination(log: "UnifiedLog", found: DamageFound) -> "Callable[[], Damage]":
    """The job, for a disk thread, that finds the damaged range of a sealed segment.

    Raises:
        DamageFound: the segment is not there any more.
    """
    segment = log.local.segments.get(found.base_offset)
    if segment is None:
        raise found
    base_offset, next_base = segment.base_offset, segment.reader.end.limit
    files, directory, config = segment.files, segment.directory, segment.config
    known = log.quarantine.of_segment(base_offset)

    def examine() -> "Damage":
        alone = LogSegment(files, directory, base_offset, config, now_ms=0)
        alone.reader.end.put_before(next_base)
        try:
            return find_extent(alone.reader, found.position, next_base, known)
        finally:
            alone.close()

    return examine
