"""The leader of a partition that this broker follows."""

from __future__ import annotations

from odradek.storage.values.offset_metadata import OffsetMetadata

# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__


class Followed:
    """What the leader has told of the other copies: up to where all hold the log.

    What our own log has of that, as durable as ours has to be, may be read here.
    """

    __slots__ = ("high_watermark",)

    def __init__(self) -> None:
        self.high_watermark = 0

    def replicated_end(self, own: OffsetMetadata) -> OffsetMetadata:
        """Up to where our own copy, and all that count, hold the log.

        Where in the files that is, is found when somebody reads: mostly nobody does.
        """
        known = self.high_watermark
        return own if own.offset <= known else _new(OffsetMetadata, (known, -1, -1))

    def note_append(self) -> None:
        """Nobody reads here who follows us."""

    def note_change(self) -> None:
        """Likewise."""

    def low_watermark(self, own_log_start: int) -> int:
        """Our own log start: of others the leader knows."""
        return own_log_start
