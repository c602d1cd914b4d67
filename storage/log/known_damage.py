"""Damage that somebody has met in a log: put right, or passed over from then on."""

from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.segment.damage_extent import Damage
from odradek.storage.segment.log_segment import LogSegment

from .state import LogState


class KnownDamage:
    """What of a log is damaged, so that readers need not stop there."""

    __slots__ = ("_state",)

    def __init__(self, state: LogState) -> None:
        self._state = state

    def __len__(self) -> int:
        """How many damaged ranges readers pass over."""
        return len(self._state.quarantine)

    def meet(self, damaged: DamagedBatch) -> None:
        """Put right the damage that a reader has met, or let all pass over it.

        Raises:
            DamagedBatch: they pass over it already, and it is still in the way.
            StorageFailure: the disk fails.
        """
        local = self._state.local
        segments = local.segments
        segment = segments.get(damaged.segment_base)
        if segment is None:
            raise damaged
        following = segments.higher(segment.base_offset)
        end = local.end.offset if following is None else following.base_offset
        damage = self._state.quarantine.examine(segment, damaged.position, end)
        if not self.take(segment, damage):
            raise damaged

    def take(self, segment: LogSegment, damage: Damage) -> bool:
        """Put it right, or let readers pass over it. False when they do already.

        Raises:
            StorageFailure: the disk fails.
        """
        if not self._state.quarantine.take(segment, damage):
            return False
        if segment is not self._state.local.active and segment.log.is_dirty:
            segment.log.sync()
        return True
