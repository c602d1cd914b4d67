"""The states of a transactional id, and which may follow which."""

from enum import IntEnum


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
_AT_REST = frozenset({TransactionState.EMPTY, *_COMPLETE})

BY_LABEL = {state.label: state for state in TransactionState}

# An abort may come without any partition: a producer of the second protocol does not
# know whether the broker has added one.
PREDECESSORS: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: _AT_REST,
    TransactionState.ONGOING: _AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: _AT_REST
    | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: _AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}
