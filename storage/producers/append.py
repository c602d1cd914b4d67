"""May this producer append this batch here? Sequences, epochs, duplicates.

Everything is checked before the first byte is written, and nothing is changed by
a check: a refused batch leaves the producer as it was. What a batch changes
once it is written is in `states`.

Who is checked for what:

    sequence     clients, data batches
    duplicate    clients, data batches
    epoch        clients and coordinators
    coordinator  clients and coordinators, markers

What is replicated or replayed was checked when it was written, and may have gaps
since: compaction and retention remove batches. It is believed; an epoch that goes
back gets a line in the broker's log.
"""

import logging
from typing import TYPE_CHECKING, NoReturn

from odradek.protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)

from .append_info import AppendOrigin
from .state import EPOCH_MAX, NO_EPOCH, BatchMetadata, ProducerState, next_sequence

if TYPE_CHECKING:
    from odradek.protocol.record_batch import BatchHeader

    from .verification_state import VerificationState

_CLIENT = AppendOrigin.CLIENT
_TRANSACTION_VERSION_2 = 2

_log = logging.getLogger(__name__)


def check_data_batch(
    state: ProducerState | None,
    header: "BatchHeader",
    origin: AppendOrigin,
    verification: "VerificationState | None" = None,
) -> BatchMetadata | None:
    """Let the batch pass, or say which remembered batch it repeats.

    ``verification`` is what is awaited of the producer's next transaction.

    Raises:
        OutOfOrderSequenceNumber: records are missing before it, or it overlaps with
            what was written without being a whole duplicate.
        InvalidProducerEpoch: a newer instance of the producer has written here.
        InvalidTxnState: not transactional, while its producer has one open.
    """
    if origin is not _CLIENT:
        _check_trusted(state, header, origin)
        return None
    if verification is not None:
        return _check_awaited(state, header, verification)
    if state is None:
        _check_first_epoch(header)
        return None
    # In sequence is what nearly every batch is, and such a one repeats nothing.
    if not _is_next(state, header):
        duplicate = find_duplicate(state, header)
        if duplicate is not None:
            return duplicate
        _check_epoch(state, header)
        _check_sequence(state, header)
    if state.has_transaction and not header.is_transactional:
        _refuse_outside_transaction(state)
    return None


def find_duplicate(state: ProducerState, header: "BatchHeader") -> BatchMetadata | None:
    """The remembered batch that this one repeats, if there is one."""
    return state.duplicate_of(
        header.producer_epoch, header.base_sequence, header.last_sequence
    )


def leaves_out(state: ProducerState | None, header: "BatchHeader") -> bool:
    """Whether batches of its producer belong before it that are not here.

    If nothing is known of the producer, that is all before its first one.
    """
    sequence = header.base_sequence
    if state is None or header.producer_epoch > state.producer_epoch:
        return sequence > 0
    if header.producer_epoch < state.producer_epoch:
        return False
    return state.misses_before(sequence)


def _check_awaited(
    state: ProducerState | None,
    header: "BatchHeader",
    verification: "VerificationState",
) -> BatchMetadata | None:
    """As `check_data_batch`, for a client while a transaction is being verified."""
    if state is not None:
        duplicate = find_duplicate(state, header)
        if duplicate is not None:
            return duplicate
        _check_epoch(state, header)
    sequence, lowest = header.base_sequence, verification.lowest_sequence
    is_unknown = state is None or not state.batches
    if verification.supports_epoch_bump and is_unknown and sequence != 0:
        raise OutOfOrderSequenceNumber(
            f"producer {header.producer_id} is not known here and begins with"
            f" sequence {sequence}, not 0"
        )
    if sequence > lowest:
        raise OutOfOrderSequenceNumber(
            f"producer {header.producer_id} sent sequence {sequence} before {lowest},"
            " which it sent too"
        )
    return check_data_batch(state, header, _CLIENT)


def _check_trusted(
    state: ProducerState | None, header: "BatchHeader", origin: AppendOrigin
) -> None:
    """A batch that no client sent: its sequences are not looked at."""
    if origin is AppendOrigin.REPLICATION:
        _warn_of_older_epoch(state, header)
    elif state is None:
        _check_first_epoch(header)
    else:
        _check_epoch(state, header)
        if state.has_transaction and not header.is_transactional:
            _refuse_outside_transaction(state)


def _refuse_outside_transaction(state: ProducerState) -> NoReturn:
    raise InvalidTxnState(
        f"producer {state.producer_id} has a transaction open since offset"
        f" {state.current_txn_first_offset}; the batch is not part of it"
    )


def check_marker(
    state: ProducerState | None,
    header: "BatchHeader",
    coordinator_epoch: int,
    origin: AppendOrigin,
    transaction_version: int = 0,
) -> None:
    """Let the end marker of a transaction pass.

    From transaction.version 2 on its epoch is above that of the transaction. The same
    epoch is fine once more after the transaction has ended: the marker was sent again
    (KIP-1228). While one is open, it is a late marker of the transaction before.

    Raises:
        InvalidProducerEpoch: a newer instance of the producer has written here.
        TransactionCoordinatorFenced: a newer coordinator has written a marker here.
    """
    if state is None:
        return
    if origin is AppendOrigin.REPLICATION:
        _warn_of_older_epoch(state, header)
        return
    epoch, current_epoch = header.producer_epoch, state.producer_epoch
    is_late = epoch == current_epoch < EPOCH_MAX and state.has_transaction
    if epoch < current_epoch or (
        is_late and transaction_version >= _TRANSACTION_VERSION_2
    ):
        raise InvalidProducerEpoch(
            f"a marker of epoch {epoch} for producer {state.producer_id}, which is at"
            f" {current_epoch}"
        )
    if coordinator_epoch < state.coordinator_epoch:
        raise TransactionCoordinatorFenced(
            f"coordinator epoch {coordinator_epoch} for producer {state.producer_id}"
            f" is older than {state.coordinator_epoch}"
        )


def _warn_of_older_epoch(state: ProducerState | None, header: "BatchHeader") -> None:
    """What the leader has accepted is accepted here too, but it is worth a line."""
    if state is not None and header.producer_epoch < state.producer_epoch:
        _log.warning(
            "epoch %d of producer %d at offset %d is older than %d",
            header.producer_epoch,
            header.producer_id,
            header.base_offset,
            state.producer_epoch,
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
    check_not_fenced(state, header.producer_epoch)


def check_not_fenced(state: ProducerState, producer_epoch: int) -> None:
    """See that no newer instance of the producer has written here.

    Raises:
        InvalidProducerEpoch: one has.
    """
    if producer_epoch < state.producer_epoch:
        raise InvalidProducerEpoch(
            f"epoch {producer_epoch} of producer {state.producer_id} is older than"
            f" {state.producer_epoch}"
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
