"""The states of a record in a share partition, and what a consumer may say of one.

`TRANSITIONS` says what leads from one state to the next. A lock that is over, and a
member that is gone, count as RELEASE.
"""

from __future__ import annotations

from enum import Enum, IntEnum


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


class RecordEvent(Enum):
    """What can happen to a record."""

    ACQUIRED = "acquired"
    """A member is given it; that counts as a delivery."""
    ACCEPTED = "accepted"
    """It was processed."""
    GIVEN_BACK = "given back"
    """By its member, or because that is gone, or the lock is over."""
    TRIED_OUT = "tried out"
    """It was given back for the last time that it may be."""
    REJECTED = "rejected"
    """Its member wants nobody to have it, or there is none at this offset."""
    RENEWED = "renewed"
    """Its member needs longer."""
    LOST = "lost"
    """Retention or compaction has taken it, before anybody had it."""


_NEXT = dict[RecordEvent, RecordState]

TRANSITIONS: dict[RecordState, _NEXT] = {
    RecordState.AVAILABLE: {
        RecordEvent.ACQUIRED: RecordState.ACQUIRED,
        RecordEvent.LOST: RecordState.ARCHIVED,
    },
    RecordState.ACQUIRED: {
        RecordEvent.ACCEPTED: RecordState.ACKNOWLEDGED,
        RecordEvent.GIVEN_BACK: RecordState.AVAILABLE,
        RecordEvent.TRIED_OUT: RecordState.ARCHIVED,
        RecordEvent.REJECTED: RecordState.ARCHIVED,
        RecordEvent.RENEWED: RecordState.ACQUIRED,
    },
    RecordState.ACKNOWLEDGED: {},
    RecordState.ARCHIVED: {},
}


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


_EVENTS: dict[int, RecordEvent] = {
    AcknowledgeType.GAP: RecordEvent.REJECTED,
    AcknowledgeType.ACCEPT: RecordEvent.ACCEPTED,
    AcknowledgeType.RELEASE: RecordEvent.GIVEN_BACK,
    AcknowledgeType.REJECT: RecordEvent.REJECTED,
}
ENDS = frozenset(state for state, known in TRANSITIONS.items() if not known)
"""What nobody is given any more."""


def state_after(kind: int, count: int, count_max: int) -> RecordState:
    """What becomes of a record that a member has, and that was tried so often.

    Raises:
        ValueError: it stays acquired (RENEW), or there is no such type.
    """
    event = _EVENTS.get(kind)
    if event is None:
        raise ValueError(kind)
    if event is RecordEvent.GIVEN_BACK and count >= count_max:
        event = RecordEvent.TRIED_OUT
    return TRANSITIONS[RecordState.ACQUIRED][event]
