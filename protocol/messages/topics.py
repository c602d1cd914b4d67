"""Topics are made, widened, emptied and deleted.

CreateTopics, CreatePartitions, DeleteRecords and DeleteTopics.
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    since,
    string,
    until,
    uuid,
)


class CreatableReplicaAssignment(Struct):
    """The brokers that shall hold one partition, the preferred leader first."""

    partition_index: int = int32()
    broker_ids: list[int] = array(of=int32)


class CreatableTopicConfig(Struct):
    """An option that the new topic shall have."""

    name: str = string()
    value: str | None = string(nullable=True, default="")


class CreatableTopic(Struct):
    """A topic to make. Counts of -1 mean the broker's defaults (KIP-464)."""

    name: str = string()
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = array()
    configs: list[CreatableTopicConfig] = array()


class CreateTopicsRequest(
    Request, api_key=ApiKey.CREATE_TOPICS, versions=(2, 7), flexible=5
):
    """Make these topics, or only say whether they could be made."""

    topics: list[CreatableTopic] = array()
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean()


class CreatableTopicConfigs(Struct):
    """An option of the new topic, with where its value comes from (KIP-525)."""

    name: str = string()
    value: str | None = string(nullable=True, default="")
    read_only: bool = boolean()
    config_source: int = int8(default=-1)
    is_sensitive: bool = boolean()


class CreatableTopicResult(Struct):
    """The topic that was made, or why it was not."""

    name: str = string()
    topic_id: bytes = uuid(versions=since(7))
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default="")
    topic_config_error_code: int = int16(versions=since(5), tag=0)
    num_partitions: int = int32(versions=since(5), default=-1)
    replication_factor: int = int16(versions=since(5), default=-1)
    configs: list[CreatableTopicConfigs] | None = array(
        versions=since(5), nullable=True
    )


class CreateTopicsResponse(
    Response, api_key=ApiKey.CREATE_TOPICS, versions=(2, 7), flexible=5
):
    """What became of each topic."""

    throttle_time_ms: int = int32()
    topics: list[CreatableTopicResult] = array()


class CreatePartitionsAssignment(Struct):
    """The brokers that shall hold one of the new partitions."""

    broker_ids: list[int] = array(of=int32)


class CreatePartitionsTopic(Struct):
    """A topic, and how many partitions it shall have in all."""

    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = array(nullable=True)


class CreatePartitionsRequest(
    Request, api_key=ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2
):
    """Widen these topics, or only say whether they could be."""

    topics: list[CreatePartitionsTopic] = array()
    timeout_ms: int = int32()
    validate_only: bool = boolean()


class CreatePartitionsTopicResult(Struct):
    """Whether one topic was widened."""

    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True, default=None)


class CreatePartitionsResponse(
    Response, api_key=ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2
):
    """What became of each topic."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array()


class DeleteRecordsPartition(Struct):
    """The first offset to keep; -1 keeps nothing below the high watermark."""

    partition_index: int = int32()
    offset: int = int64()


class DeleteRecordsTopic(Struct):
    """The partitions of one topic to cut."""

    name: str = string()
    partitions: list[DeleteRecordsPartition] = array()


class DeleteRecordsRequest(
    Request, api_key=ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2
):
    """Forget the records before an offset."""

    topics: list[DeleteRecordsTopic] = array()
    timeout_ms: int = int32()


class DeleteRecordsPartitionResult(Struct):
    """Where one partition now begins."""

    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


class DeleteRecordsTopicResult(Struct):
    """What became of the partitions of one topic."""

    name: str = string()
    partitions: list[DeleteRecordsPartitionResult] = array()


class DeleteRecordsResponse(
    Response, api_key=ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2
):
    """Where the partitions now begin."""

    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array()


class DeleteTopicState(Struct):
    """A topic to delete: by name, or by id with a null name."""

    name: str | None = string(nullable=True, default=None)
    topic_id: bytes = uuid()


class DeleteTopicsRequest(
    Request, api_key=ApiKey.DELETE_TOPICS, versions=(1, 6), flexible=4
):
    """Delete these topics. Version 6 put ``topics`` in the place of the names."""

    topics: list[DeleteTopicState] = array(versions=since(6))
    topic_names: list[str] = array(versions=until(5))
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    """Whether one topic was deleted. The name is null for an unknown id."""

    name: str | None = string(nullable=since(6), default="")
    topic_id: bytes = uuid(versions=since(6))
    error_code: int = int16()
    error_message: str | None = string(versions=since(5), nullable=True, default=None)


class DeleteTopicsResponse(
    Response, api_key=ApiKey.DELETE_TOPICS, versions=(1, 6), flexible=4
):
    """What became of each topic."""

    throttle_time_ms: int = int32()
    responses: list[DeletableTopicResult] = array()
