"""The leader of a partition that this broker follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.storage.values.offset_metadata import OffsetMetadata


class Followed:
    """What the leader has told of the other copies: up to where all hold the log.

    What our own log has of that, as durable as ours has to be, may be read here.
    """

    __slots__ = ("high_watermark",)

    def __init__(self) -> None:
        self.high_watermark = 0

    def replicated_end(self, own: OffsetMetadata) -> OffsetMetadata | int:
        """Up to where our own copy, and all that count, hold the log."""
        return own if own.offset <= self.high_watermark else self.high_watermark

    def low_watermark(self, own_log_start: int) -> int:
        """Our own log start: of others the leader knows."""
        return own_log_start
