"""The purgatories in which requests wait for partitions, one for each kind of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .delayed_fetch import WaitingFetches
from .purgatory import Purgatory

if TYPE_CHECKING:
    from collections.abc import Hashable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition


class Purgatories(NamedTuple):
    """Who waits for records to be durable, to come, and to be deleted.

    ``share_fetches`` wait for share partitions, too.
    """

    produces: Purgatory[TopicPartition]
    fetches: WaitingFetches
    deletions: Purgatory[TopicPartition]
    share_fetches: Purgatory[Hashable]


def purgatories_of(config: BrokerConfig, clock: Clock) -> Purgatories:
    """Those of a broker, under the names that Apache Kafka's metrics have for them."""
    return Purgatories(
        Purgatory("Produce", clock, config.producer_purgatory_purge_interval_requests),
        WaitingFetches("Fetch", clock, config.fetch_purgatory_purge_interval_requests),
        Purgatory(
            "DeleteRecords",
            clock,
            config.delete_records_purgatory_purge_interval_requests,
        ),
        Purgatory(
            "ShareFetch", clock, config.share_fetch_purgatory_purge_interval_requests
        ),
    )
