"""The topics that are made because somebody asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError

from .topic import NewTopic
from .topic_names import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    check_name,
)

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig

    from .topics import Topics


def new_topic(name: str, config: BrokerConfig) -> NewTopic:
    """What a topic of that name is made with when nobody says how.

    Raises:
        InvalidTopic: the name is not legal.
    """
    check_name(name)
    if name == CONSUMER_OFFSETS:
        return _compacted(
            name,
            config.offsets_topic_num_partitions,
            config.offsets_topic_segment_bytes,
        )
    if name == TRANSACTION_STATE:
        return _compacted(
            name,
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_segment_bytes,
        )
    if name == SHARE_GROUP_STATE:
        return _share_group_state(config)
    return NewTopic(name, config.num_partitions, {})


async def make_topic(topics: Topics, name: str, config: BrokerConfig) -> None:
    """Make a topic with what nobody says, unless somebody else is faster.

    Raises:
        KafkaError: it cannot be made.
    """
    (made,) = await topics.create_topics([new_topic(name, config)])
    if isinstance(made, KafkaError) and topics.get(name) is None:
        raise made


def _compacted(name: str, partition_count: int, segment_bytes: int) -> NewTopic:
    options = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(segment_bytes),
    }
    return NewTopic(name, partition_count, options)


def _share_group_state(config: BrokerConfig) -> NewTopic:
    """Its records are increments: neither age, size nor compaction may take any."""
    options = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": str(config.share_coordinator_state_topic_min_isr),
        "retention.bytes": "-1",
        "retention.ms": "-1",
        "segment.bytes": str(config.share_coordinator_state_topic_segment_bytes),
    }
    partition_count = config.share_coordinator_state_topic_num_partitions
    return NewTopic(SHARE_GROUP_STATE, partition_count, options)
