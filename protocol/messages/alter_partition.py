"""AlterPartition: a leader asks the controller to have other replicas in sync.

By it a leader also says that what an unclean election left is in order (KIP-497, 704).
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    since,
    until,
    uuid,
)


class BrokerState(Struct):
    """A broker that shall be in sync, and the registration in which it is (KIP-903)."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


class AlterPartitionData(Struct):
    """Who shall be in sync, by what is known of the partition."""

    partition_index: int = int32()
    leader_epoch: int = int32()
    new_isr: list[int] = array(of=int32, versions=until(2))
    new_isr_with_epochs: list[BrokerState] = array(versions=since(3))
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()


class AlterPartitionTopic(Struct):
    """The partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[AlterPartitionData] = array()


class AlterPartitionRequest(
    Request, api_key=ApiKey.ALTER_PARTITION, versions=(2, 3), flexible=0
):
    """Let these be in sync."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    topics: list[AlterPartitionTopic] = array()


class AlteredPartition(Struct):
    """What the controller has decided, or why it has not."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = array(of=int32)
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()


class AlteredTopic(Struct):
    """The partitions of one topic."""

    topic_id: bytes = uuid()
    partitions: list[AlteredPartition] = array()


class AlterPartitionResponse(
    Response, api_key=ApiKey.ALTER_PARTITION, versions=(2, 3), flexible=0
):
    """The answer to each, or one error for all."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[AlteredTopic] = array()
