"""A producer whose records appear together, or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.protocol.errors import InvalidTxnState

from .producer import Producer
from .transaction_steps import (
    commit_offsets_in_transaction,
    end_transaction,
    init_producer_id,
    transaction_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from odradek.protocol.records import NewRecord
    from odradek.protocol.topic_partition import TopicPartition

    from .cluster import Cluster
    from .produce_link import Written
    from .producer import ProducerSettings
    from .transaction_steps import CommittedNote


class TransactionalProducer:
    """The owner of a transactional id; who had it before is shut out."""

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str,
        settings: ProducerSettings | None = None,
        *,
        timeout_ms: int = 60_000,
        on_written: Callable[[Written], None] | None = None,
    ) -> None:
        """Takes the id, and aborts what its last owner left open."""
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        self._name = transaction_name(cluster, transactional_id)
        self._identity = init_producer_id(cluster, self._name, timeout_ms)
        self._producer = Producer(
            cluster,
            settings,
            transaction=self._name,
            identity=self._identity,
            on_written=on_written,
        )
        self._is_open = False
        self._has_offsets = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; what is open is aborted when its time is over."""
        self._producer.close()

    def begin(self) -> None:
        """Begin a transaction.

        Raises:
            InvalidTxnState: one is open.
        """
        if self._is_open:
            raise InvalidTxnState("A transaction is open already.")
        self._is_open = True
        self._has_offsets = False
        self._producer.renew(self._identity)

    def send(
        self, topic: str, record: NewRecord, partition: int | None = None
    ) -> TopicPartition:
        """As `Producer.send`, inside of the transaction."""
        self._check_open()
        return self._producer.send(topic, record, partition)

    def send_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedNote]
    ) -> None:
        """Let a group go on from there when, and only when, the transaction commits."""
        self._check_open()
        commit_offsets_in_transaction(
            self._cluster, self._name, self._identity, group_id, offsets
        )
        self._has_offsets = True

    def commit(self) -> None:
        """Write what is left, and make everything visible.

        Raises:
            DeliveryFailed: something was not written; abort.
            ProducerFenced, InvalidProducerEpoch: somebody else has the id by now.
        """
        self._check_open()
        self._producer.flush()
        if self._producer.taking_part or self._has_offsets:
            self._identity = end_transaction(
                self._cluster, self._name, self._identity, commit=True
            )
        self._is_open = False

    def abort(self) -> None:
        """Drop what was not sent; what was is never shown to who reads committed."""
        self._check_open()
        self._producer.close()
        with suppress(InvalidTxnState):  # nothing was added to it
            self._identity = end_transaction(
                self._cluster, self._name, self._identity, commit=False
            )
        # The next epoch: what is on its way cannot slip into the next transaction.
        self._identity = init_producer_id(
            self._cluster, self._name, self._timeout_ms, self._identity
        )
        self._is_open = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidTxnState("No transaction is open; begin one.")
