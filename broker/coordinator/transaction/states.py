"""The states of a transactional id, and what leads from one to the next.

`TRANSITIONS` is the only place that says so: a transaction changes its state by asking
`state_after`. An event that a state does not name cannot happen there.
"""

from enum import IntEnum, StrEnum


class TransactionState(IntEnum):
    """What a transactional id is doing; the numbers are those of its records."""

    EMPTY = 0
    """Its producer has not begun a transaction."""
    ONGOING = 1
    """Partitions take part; the producer writes."""
    PREPARE_COMMIT = 2
    """It will be committed, whatever happens; markers are being written."""
    PREPARE_ABORT = 3
    """It will be aborted, whatever happens; markers are being written."""
    COMPLETE_COMMIT = 4
    """Every partition has the marker of the commit."""
    COMPLETE_ABORT = 5
    """Every partition has the marker of the abort."""
    DEAD = 6
    """Apache Kafka's word for one that is about to be forgotten. Never written."""
    PREPARE_EPOCH_FENCE = 7
    """Apache Kafka's word for one whose producer is being fenced. Never written."""

    @property
    def label(self) -> str:
        """The name that clients are told."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """Whether it is decided how the transaction ends, and not yet done."""
        return self in _PREPARED

    @property
    def is_complete(self) -> bool:
        """Whether the last transaction has ended."""
        return self in _COMPLETE

    @property
    def is_commit(self) -> bool:
        """Whether the transaction is, or will be, committed."""
        return self in _COMMITS


_PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
_COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_COMMITS = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

BY_LABEL = {state.label: state for state in TransactionState}


class TransactionEvent(StrEnum):
    """What can happen to a transactional id."""

    PRODUCER_BEGUN = "producer begun"
    """A producer has taken the id, and those before it are shut out."""
    PARTITIONS_ADDED = "partitions added"
    """Partitions take part, with the first of them the transaction begins."""
    COMMIT_DECIDED = "commit decided"
    """Its producer has ended it."""
    ABORT_DECIDED = "abort decided"
    """Its producer has given it up, or its time is over, or another one took the id."""
    MARKERS_WRITTEN = "markers written"
    """Every partition has its marker, for good."""


_NEXT = dict[TransactionEvent, TransactionState]
# An abort may come without any partition: a producer of the second protocol does not
# know whether the broker has added one.
_AT_REST: _NEXT = {
    TransactionEvent.PRODUCER_BEGUN: TransactionState.EMPTY,
    TransactionEvent.PARTITIONS_ADDED: TransactionState.ONGOING,
    TransactionEvent.ABORT_DECIDED: TransactionState.PREPARE_ABORT,
}

TRANSITIONS: dict[TransactionState, _NEXT] = {
    TransactionState.EMPTY: _AT_REST,
    TransactionState.ONGOING: {
        TransactionEvent.PARTITIONS_ADDED: TransactionState.ONGOING,
        TransactionEvent.COMMIT_DECIDED: TransactionState.PREPARE_COMMIT,
        TransactionEvent.ABORT_DECIDED: TransactionState.PREPARE_ABORT,
    },
    TransactionState.PREPARE_COMMIT: {
        TransactionEvent.MARKERS_WRITTEN: TransactionState.COMPLETE_COMMIT,
    },
    TransactionState.PREPARE_ABORT: {
        TransactionEvent.MARKERS_WRITTEN: TransactionState.COMPLETE_ABORT,
    },
    TransactionState.COMPLETE_COMMIT: _AT_REST,
    TransactionState.COMPLETE_ABORT: _AT_REST,
    TransactionState.DEAD: {},
    TransactionState.PREPARE_EPOCH_FENCE: {
        TransactionEvent.ABORT_DECIDED: TransactionState.PREPARE_ABORT,
    },
}


def state_after(state: TransactionState, event: TransactionEvent) -> TransactionState:
    """The state to which ``event`` leads; where it cannot happen, that is a bug."""
    following = TRANSITIONS[state].get(event)
    assert following is not None, (state, event)
    return following
