"""A copy becomes a topic like all others.

Each step is committed before the next, and a kill leaves a copy or a topic:

1. producer ids are given in a range of our own (that is so since the mirror is there);
2. its leader epochs move on in the catalogue;
3. it is no copy: from here on the next start opens it as a topic of ours;
4. its partitions take writes, in their new epochs, but of no producer whose id was
   given here as well;
5. transactions that are open in it are aborted, as those are at a start which no
   coordinator will end.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.marker_writer import Marker
from odradek.broker.coordinator.transaction.transaction import EPOCH_MAX
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.broker.coordinator.transaction.service import TransactionCoordinator
    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.mirrored_topics import MirroredTopics
    from odradek.broker.metadata.producer_ids import OwnIds, ProducerIds
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.following import Following
    from odradek.broker.replica.partition.partition import Partition

_logger = logging.getLogger(__name__)


class Promotion:
    """Promotes topics, which nobody copies to any more."""

    def __init__(
        self,
        topics: Topics,
        mirrored: MirroredTopics,
        following: Following,
        committer: Committer,
        producer_ids: ProducerIds,
        transactions: TransactionCoordinator,
    ) -> None:
        self._topics = topics
        self._mirrored = mirrored
        self._following = following
        self._committer = committer
        self._producer_ids = producer_ids
        self._transactions = transactions

    async def promote(self, topic: Topic) -> dict[int, int]:
        """Let it be written to; returns where each partition ends.

        Raises:
            KafkaError: a partition cannot be served, or the catalogue not written. It
                is a copy then.
        """
        copies = [
            await self._following.copy(TopicPartition(topic.name, info.partition))
            for info in topic.partitions
        ]
        await self._committer.flush()
        own = await self._producer_ids.begin_range()
        epochs = {each.topic_partition: _next_epoch(each) for each in copies}
        await self._topics.set_leader_epochs(epochs)
        await self._mirrored.promote(topic.topic_id)
        for each in copies:
            self._following.release(each, epochs[each.topic_partition])
            self._end_shared(each, own)
        _logger.info("topic %s is promoted: it is no copy any more", topic.name)
        return {
            each.topic_partition.partition: each.view.log_end_offset for each in copies
        }

    def _end_shared(self, partition: Partition, own: OwnIds) -> None:
        """End the epochs of producers whose ids were given here, too.

        Two producers of one id: what the second one writes would look like what the
        first one wrote, and be dropped. Now both are told that their epoch is over.
        """
        for state in list(partition.log.producers if partition.log else ()):
            is_open = state.current_txn_first_offset >= 0
            if state.producer_id in own and not is_open:
                epoch = min(state.producer_epoch + 1, EPOCH_MAX)
                marker = Marker(
                    ProducerIdentity(state.producer_id, epoch),
                    is_commit=False,
                    coordinator_epoch=max(state.coordinator_epoch, 0),
                    transaction_version=0,
                )
                said = partial(_logger.debug, "%s is ended", marker.producer)
                self._transactions.markers.write_each(
                    marker, (partition.topic_partition,), said
                )

    async def end_transactions(self) -> int:
        """Abort what is open in promoted topics; returns how many transactions."""
        await self._transactions.runtime.loaded()
        return self._transactions.orphans.end_all()


def _next_epoch(partition: Partition) -> int:
    latest = -1 if partition.log is None else partition.log.latest_epoch
    return max(latest, partition.leadership.epoch) + 1
