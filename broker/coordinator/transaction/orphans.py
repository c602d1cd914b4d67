"""Transactions that are open in a log, and that no coordinator will end.

Readers of committed records would wait behind one for ever. In Apache Kafka logs and
coordinators are apart, and an administrator has to find them; here both are in one
process, which compares them once everything is loaded. They come from a power cut with
``durability=none``, from a directory that was adopted without its
``__transaction_state``, and from damage.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision, ProducerIdentity
from odradek.broker.coordinator.phase import Phase
from odradek.protocol.errors import KafkaError

from .end import carried_out, fence
from .marker_writer import Marker
from .states import TransactionState
from .transaction import BUMPS_EPOCH, EPOCH_MAX, EndedBy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from odradek.broker.coordinator.runtime import CoordinatorRuntime
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.producers.state import ProducerState

    from .marker_writer import LogMarkerWriter
    from .shard import TransactionShard
    from .transaction import Transaction

# Producer ids may have to be fetched first.
RETRY_MS = 1_000

_logger = logging.getLogger(__name__)


class OpenTransaction(NamedTuple):
    """What a log has open. ``coordinator_epoch`` is that of the marker before."""

    topic_partition: TopicPartition
    producer: ProducerIdentity
    coordinator_epoch: int
    first_offset: int


class Orphans:
    """Finds and ends what nobody else would end."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[TransactionShard],
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        markers: LogMarkerWriter,
    ) -> None:
        self._runtime = runtime
        self._replica_manager = replica_manager
        self._log_manager = log_manager
        self._markers = markers

    def end_all(self) -> int:
        """End every orphan in the logs that are open; returns how many there are.

        They are aborted, but for those of which the coordinator knows that they were
        committed: a log has lost the marker.

        Nothing is done while a part of the coordinator is not loaded, or could not
        be: what it does not know of may be there.
        """
        if not self._runtime.is_loaded:
            return 0
        if any(shard.phase is not Phase.ACTIVE for shard in self._runtime.shards()):
            _logger.warning("what is open in logs and owned by nobody is left as it is")
            return 0
        owners, committed = self.owners(), self._committed()
        unlisted: dict[int, list[TopicPartition]] = {}
        count = 0
        for each in self.open_transactions():
            owner = owners.get(each.producer.producer_id)
            if owner is None or not _is_of(each, owner):
                self._end(each, is_commit=each.producer in committed)
            elif each.topic_partition in owner.partitions:
                continue
            elif owner.state.is_prepared:
                self._end(each)
            else:
                of_owner = unlisted.setdefault(owner.producer_id, [])
                of_owner.append(each.topic_partition)
            count += 1
        for producer_id, partitions in unlisted.items():
            self._abort_whole(owners[producer_id], partitions)
        return count

    def owners(self) -> dict[int, Transaction]:
        """The transactions that are not over, by producer id."""
        return {
            each.producer_id: each
            for shard in self._runtime.shards()
            for each in shard.state.transactions.values()
            if each.state is TransactionState.ONGOING or each.state.is_prepared
        }

    def _committed(self) -> set[ProducerIdentity]:
        """Who wrote the transactions of which it is known that they were committed.

        Only where each has an epoch of its own, the one before the present one.
        """
        return {
            each.producer._replace(producer_epoch=each.producer_epoch - 1)
            for shard in self._runtime.shards()
            for each in shard.state.transactions.values()
            if each.state is TransactionState.COMPLETE_COMMIT
            and each.client_version >= BUMPS_EPOCH
        }

    def is_orphan(self, open_transaction: OpenTransaction) -> bool:
        """Whether nobody would end it."""
        owner = self.owners().get(open_transaction.producer.producer_id)
        return owner is None or not _is_of(open_transaction, owner)

    def is_committed(self, orphan: OpenTransaction) -> bool:
        """Whether the coordinator knows that it was: the log has lost the marker."""
        return orphan.producer in self._committed()

    def open_transactions(self) -> Iterator[OpenTransaction]:
        """All that logs have open; of a log that is not open nothing is known.

        In a copy of another cluster's log they are that cluster's to end.
        """
        for topic_partition in self._log_manager.directories_of():
            if not self._is_copy(topic_partition):
                yield from self.open_in(topic_partition)

    def _is_copy(self, topic_partition: TopicPartition) -> bool:
        try:
            partition = self._replica_manager.partition(topic_partition)
        except KafkaError:
            return False
        return partition.leadership.is_read_only

    def open_in(self, topic_partition: TopicPartition) -> list[OpenTransaction]:
        """What the log of a partition has open."""
        try:
            log = self._replica_manager.partition(topic_partition).log
        except KafkaError:  # deleted, or of no topic
            return []
        if log is None:
            return []
        return [
            _open_transaction(topic_partition, state)
            for state in log.producers.with_transactions()
        ]

    def _end(self, orphan: OpenTransaction, *, is_commit: bool = False) -> None:
        _logger.warning(
            "%s has a transaction of producer %d open since offset %d, which no "
            "coordinator will end: it is %s",
            orphan.topic_partition,
            orphan.producer.producer_id,
            orphan.first_offset,
            "committed, as elsewhere" if is_commit else "aborted",
        )
        # An epoch higher: whoever still writes has lost a part of what it wrote, and
        # must not go on in this transaction.
        producer_id, epoch = orphan.producer
        marker = Marker(
            ProducerIdentity(producer_id, min(epoch + 1, EPOCH_MAX)),
            is_commit,
            coordinator_epoch=max(orphan.coordinator_epoch, 0),
            transaction_version=0,
        )
        done = partial(_logger.debug, "%s is ended", orphan)
        self._markers.write_each(marker, (orphan.topic_partition,), done)

    def _abort_whole(
        self, owner: Transaction, unlisted: Sequence[TopicPartition]
    ) -> None:
        """Its coordinator has forgotten that some partitions take part: all is lost."""
        _logger.warning(
            "transaction %s has records in %s, of which its coordinator does not "
            "know: all of it is aborted",
            owner.transactional_id,
            ", ".join(map(str, unlisted)),
        )
        runtime = self._runtime
        decide = partial(decide_abort_with, owner=owner, unlisted=unlisted)

        def attempt() -> None:
            runtime.act(owner.transactional_id, decide, try_again)

        def try_again(error: KafkaError) -> None:
            _logger.warning("%s is not aborted yet: %s", owner.transactional_id, error)
            if error.retriable:
                runtime.clock.call_later(RETRY_MS, attempt)

        attempt()


def decide_abort_with(
    shard: TransactionShard, owner: Transaction, unlisted: Sequence[TopicPartition]
) -> Decision:
    """Abort a transaction, and what it has written where it is not known to.

    Raises:
        CoordinatorLoadInProgress: it needs a new producer id, and none is at hand.
    """
    current = shard.get(owner.transactional_id)
    is_over = current is None or current.state is not TransactionState.ONGOING
    if current is None or is_over or current.start_ms != owner.start_ms:
        return Decision()
    whole = current._replace(partitions=(*current.partitions, *unlisted))
    return carried_out(shard, fence(shard, whole, EndedBy.TIMEOUT))


def _is_of(open_transaction: OpenTransaction, owner: Transaction) -> bool:
    epoch = open_transaction.producer.producer_epoch
    if owner.state is TransactionState.ONGOING:
        return epoch == owner.producer_epoch
    # The marker to come has this epoch, or one above that of the records.
    return owner.producer_epoch - 1 <= epoch <= owner.producer_epoch


def _open_transaction(
    topic_partition: TopicPartition, state: ProducerState
) -> OpenTransaction:
    return OpenTransaction(
        topic_partition,
        ProducerIdentity(state.producer_id, state.producer_epoch),
        state.coordinator_epoch,
        state.current_txn_first_offset,
    )
