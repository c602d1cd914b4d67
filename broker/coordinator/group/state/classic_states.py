"""The states of a classic group, and which may follow which."""

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


PREDECESSORS: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING_REBALANCE}),
    ClassicState.DEAD: frozenset(ClassicState),
}
