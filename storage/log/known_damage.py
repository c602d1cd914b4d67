"""Damage that somebody has met in a log: put right, or passed over from then on."""

from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.segment.batch_verification import DamagedBatch
from odradek.storage.segment.damage_extent import Damage, NoDamage
from odradek.storage.segment.log_segment import LogSegment

from .state import LogState


class KnownDamage:
    """What of a log is damaged, so that readers need not stop there."""

    __slots__ = ("_looked_again_at", "_state")

    def __init__(self, state: LogState) -> None:
        self._state = state
        # The segment and the position where a reader stumbled over nothing.
        self._looked_again_at: tuple[int, int] | None = None

    def __len__(self) -> int:
        """How many damaged ranges readers pass over."""
        return len(self._state.quarantine)

    def first_from(self, offset: int) -> int | None:
        """The first damaged offset that is not below ``offset``, if there is one."""
        for entry in self._state.quarantine:
            if entry.last_offset >= offset:
                return max(entry.base_offset, offset)
        return None

    def meet(self, damaged: DamagedBatch) -> None:
        """Put right the damage that a reader has met, or let all pass over it.

        Where there is none the reader is to look again, with indexes made anew.

        Raises:
            DamagedBatch: they pass over it already, and it is still in the way; or
                there is none, and it looked again before.
            StorageFailure: the disk fails.
        """
        local = self._state.local
        segments = local.segments
        segment = segments.get(damaged.segment_base)
        if segment is None:
            raise damaged
        following = segments.higher(segment.base_offset)
        end = local.end.offset if following is None else following.base_offset
        try:
            damage = self._state.quarantine.examine(segment, damaged.position, end)
        except NoDamage:
            self._let_look_again(segment, damaged)
            return
        if not self.take(segment, damage):
            raise damaged

    def _let_look_again(self, segment: LogSegment, damaged: DamagedBatch) -> None:
        place = (segment.base_offset, damaged.position)
        if place == self._looked_again_at:
            self._looked_again_at = None  # the next reader may be luckier
            raise damaged
        self._looked_again_at = place
        segment.indexes.rebuild(CorruptIndex(f"{damaged}; the log is sound there"))

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
