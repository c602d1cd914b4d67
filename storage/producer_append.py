"""May this producer append this batch here? Sequences, epochs, duplicates.

Everything is checked before the first byte is written, and nothing is changed by
a check: a refused batch leaves the producer as it was (``spec`` B8). What a batch
changes once it is written is in `producer_states`.

Who is checked for what:

    sequence     clients, data batches
    duplicate    clients, data batches
    epoch        clients and coordinators
    coordinator  clients and coordinators, markers

What is replayed from the log was checked when it was written, and may have gaps
since: compaction and retention remove batches. It is believed.
"""

from typing import TYPE_CHECKING

from protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)

from .append_info import AppendOrigin
from .producer_state import NO_EPOCH, BatchMetadata, ProducerState, next_sequence

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader


def check_data_batch(
    state: ProducerState | None, header: "BatchHeader", origin: AppendOrigin
) -> BatchMetadata | None:
    """Let the batch pass, or say which remembered batch it repeats.

    Raises:
        OutOfOrderSequenceNumber: records are missing before it, or it overlaps with
            what was written without being a whole duplicate.
        InvalidProducerEpoch: a newer instance of the producer has written here.
        InvalidTxnState: not transactional, while its producer has one open.
    """
    if state is None:
        _check_first_epoch(header)
        return None
    if origin is AppendOrigin.CLIENT:
        # In sequence is what nearly every batch is, and such a one repeats nothing.
        if not _is_next(state, header):
            duplicate = state.duplicate_of(
                header.producer_epoch, header.base_sequence, header.last_sequence
            )
            if duplicate is not None:
                return duplicate
            _check_epoch(state, header)
            _check_sequence(state, header)
    else:
        _check_epoch(state, header)
    if state.has_transaction and not header.is_transactional:
        raise InvalidTxnState(
            f"producer {state.producer_id} has a transaction open since offset"
            f" {state.current_txn_first_offset}; the batch is not part of it"
        )
    return None


def check_marker(
    state: ProducerState | None, header: "BatchHeader", coordinator_epoch: int
) -> None:
    """Let the end marker of a transaction pass.

    Raises:
        InvalidProducerEpoch: a newer instance of the producer has written here.
        TransactionCoordinatorFenced: a newer coordinator has written a marker here.
    """
    if state is None:
        return
    _check_epoch(state, header)
    if coordinator_epoch < state.coordinator_epoch:
        raise TransactionCoordinatorFenced(
            f"coordinator epoch {coordinator_epoch} for producer {state.producer_id}"
            f" is older than {state.coordinator_epoch}"
        )


def _is_next(state: ProducerState, header: "BatchHeader") -> bool:
    if header.producer_epoch != state.producer_epoch or not state.batches:
        return False
    return header.base_sequence == next_sequence(state.batches[-1].last_sequence)


def _check_first_epoch(header: "BatchHeader") -> None:
    # Nothing is known, so any sequence will do: the producer's records may have been
    # removed by retention, or its state may have expired. An epoch it must have.
    if header.producer_epoch <= NO_EPOCH:
        raise InvalidProducerEpoch(
            f"producer {header.producer_id} has no epoch ({header.producer_epoch})"
        )


def _check_epoch(state: ProducerState, header: "BatchHeader") -> None:
    _check_first_epoch(header)
    if header.producer_epoch < state.producer_epoch:
        raise InvalidProducerEpoch(
            f"epoch {header.producer_epoch} of producer {state.producer_id} is older"
            f" than {state.producer_epoch}"
        )


def _check_sequence(state: ProducerState, header: "BatchHeader") -> None:
    if state.producer_epoch == NO_EPOCH:
        return
    if header.producer_epoch != state.producer_epoch:
        # A new epoch starts counting again.
        if header.base_sequence != 0:
            raise OutOfOrderSequenceNumber(
                f"producer {state.producer_id} begins epoch {header.producer_epoch}"
                f" with sequence {header.base_sequence}, not 0"
            )
        return
    # After a marker that raised the epoch there is no batch yet: 0 follows -1.
    expected = next_sequence(state.last_sequence) if state.batches else 0
    if header.base_sequence != expected:
        raise OutOfOrderSequenceNumber(
            f"producer {state.producer_id} sent sequence {header.base_sequence} in"
            f" epoch {state.producer_epoch}; expected {expected}"
        )
