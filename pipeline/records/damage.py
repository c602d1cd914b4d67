"""Bytes that hold no valid batch, and what a reader does about them (``onCorrupt``)."""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from odradek.pipeline.errors import SourceError

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)


class OnCorrupt(Enum):
    """What happens where a batch is damaged: the values of option ``onCorrupt``.

    ``report`` goes on as ``skip`` does, with a warning for each range.
    """

    FAIL = "fail"
    SKIP = "skip"
    REPORT = "report"


class Damage(NamedTuple):
    """A range without a valid batch.

    ``position`` up to ``end`` are its bytes in the data or file that was read,
    ``next_offset`` is the first offset that may be lost in it, and ``offset_behind``
    one to go on with where nothing follows.
    """

    place: TopicPartition
    position: int
    end: int
    next_offset: int
    offset_behind: int
    reason: str
    source: str

    def __str__(self) -> str:
        return (
            f"{self.place}: {self.source}, bytes {self.position} to {self.end}: "
            f"{self.reason}; offsets from {self.next_offset} on are damaged"
        )


class CorruptData(SourceError):
    """A batch is damaged, and ``onCorrupt`` is ``fail``."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(
            f"{damage}. `onCorrupt=report` reads what is sound; `odradek pipeline "
            "audit` or `odradek fsck` says what else is wrong."
        )
        self.damage = damage

    def __reduce__(self) -> tuple[type[CorruptData], tuple[Damage]]:
        return type(self), (self.damage,)


def meet(damage: Damage, on_corrupt: OnCorrupt) -> None:
    """Stop at ``damage``, or say it, or neither.

    Raises:
        CorruptData: it is to stop.
    """
    if on_corrupt is OnCorrupt.FAIL:
        raise CorruptData(damage)
    if on_corrupt is OnCorrupt.REPORT:
        _log.warning("%s; passed over", damage)
