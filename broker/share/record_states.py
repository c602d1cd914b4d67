"""The states of a record in a share partition, and what a consumer may say of one."""

from __future__ import annotations

from enum import IntEnum


class RecordState(IntEnum):
    """Numbered as on the wire and in the log. Acquired records are never written."""

    AVAILABLE = 0
    """Whoever asks may have it."""
    ACQUIRED = 1
    """A consumer works on it, until its lock is over."""
    ACKNOWLEDGED = 2
    """It was processed."""
    ARCHIVED = 4
    """It was rejected, is not there, or was tried as often as it may be."""


class AcknowledgeType(IntEnum):
    """What a consumer says of a record that it has."""

    GAP = 0
    """There is no record at this offset."""
    ACCEPT = 1
    RELEASE = 2
    """Somebody else may try it."""
    REJECT = 3
    """Nobody shall try it."""
    RENEW = 4
    """It still works on it (KIP-1222)."""


ENDS = frozenset((RecordState.ACKNOWLEDGED, RecordState.ARCHIVED))
"""What nobody is given any more."""


def state_after(kind: int, count: int, count_max: int) -> RecordState:
    """What becomes of a record that was tried so often.

    Raises:
        ValueError: it stays acquired (RENEW), or there is no such type.
    """
    match kind:
        case AcknowledgeType.ACCEPT:
            return RecordState.ACKNOWLEDGED
        case AcknowledgeType.REJECT | AcknowledgeType.GAP:
            return RecordState.ARCHIVED
        case AcknowledgeType.RELEASE:
            is_last = count >= count_max
            return RecordState.ARCHIVED if is_last else RecordState.AVAILABLE
    raise ValueError(kind)
