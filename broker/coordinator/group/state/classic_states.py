"""The states of a classic group, and what leads from one to the next.

`TRANSITIONS` is the only place that says so: a group changes its state by
`ClassicGroup.note`. An event that a state does not name cannot happen there.
"""

from enum import Enum


class ClassicState(Enum):
    """What a group is doing; the values are the names that clients are told."""

    EMPTY = "Empty"
    """It has no members; perhaps it has offsets."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are asked to join again; it waits for all of them."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All have joined; the leader's assignment is awaited."""
    STABLE = "Stable"
    """Every member has its assignment."""
    DEAD = "Dead"
    """It was deleted; who still holds it looks for another coordinator."""


class ClassicEvent(Enum):
    """What can happen to a group."""

    REBALANCE_BEGUN = "rebalance begun"
    """Members have come or gone, or one has changed: all are asked to join again."""
    MEMBERS_JOINED = "members joined"
    """Who wanted to come has come; a generation begins."""
    NOBODY_JOINED = "nobody joined"
    """The time to join is over, and nobody is left."""
    ASSIGNMENT_STORED = "assignment stored"
    """What the leader has assigned is written; with static members, durable."""
    DELETED = "deleted"
    """Somebody has deleted it, or it had nothing any more."""


_NEXT = dict[ClassicEvent, ClassicState]

TRANSITIONS: dict[ClassicState, _NEXT] = {
    ClassicState.EMPTY: {
        ClassicEvent.REBALANCE_BEGUN: ClassicState.PREPARING_REBALANCE,
        ClassicEvent.DELETED: ClassicState.DEAD,
    },
    ClassicState.PREPARING_REBALANCE: {
        ClassicEvent.MEMBERS_JOINED: ClassicState.COMPLETING_REBALANCE,
        ClassicEvent.NOBODY_JOINED: ClassicState.EMPTY,
        ClassicEvent.DELETED: ClassicState.DEAD,
    },
    ClassicState.COMPLETING_REBALANCE: {
        ClassicEvent.ASSIGNMENT_STORED: ClassicState.STABLE,
        ClassicEvent.REBALANCE_BEGUN: ClassicState.PREPARING_REBALANCE,
        ClassicEvent.DELETED: ClassicState.DEAD,
    },
    ClassicState.STABLE: {
        ClassicEvent.REBALANCE_BEGUN: ClassicState.PREPARING_REBALANCE,
        ClassicEvent.DELETED: ClassicState.DEAD,
    },
    ClassicState.DEAD: {ClassicEvent.DELETED: ClassicState.DEAD},
}
