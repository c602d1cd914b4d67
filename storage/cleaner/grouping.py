"""Which segments are made into one, so that cleaning does not leave many small ones."""

from collections.abc import Iterable

from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.values.log_config import LogConfig

from .plan import SourceSegment

Group = tuple[SourceSegment, ...]


def group_segments(segments: Iterable[SourceSegment], config: LogConfig) -> list[Group]:
    """Neighbours whose files together, as they are now, fit into one segment.

    One with damage is alone.
    """
    groups: list[list[SourceSegment]] = []
    for segment in segments:
        if groups and _fits(groups[-1], segment, config):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return [tuple(group) for group in groups]


def _fits(
    group: list[SourceSegment], segment: SourceSegment, config: LogConfig
) -> bool:
    if group[-1].has_damage or segment.has_damage:
        return False
    index_size_max = config.segment_index_bytes
    whole = (*group, segment)
    return (
        sum(each.size for each in whole) <= config.segment_bytes
        and sum(each.offset_index_size for each in whole) <= index_size_max
        and sum(each.time_index_size for each in whole) <= index_size_max
        and segment.end_offset - 1 - group[0].base_offset <= RELATIVE_OFFSET_MAX
    )
