"""A client on bare requests, for what happens once: no waits of a library's own.

What is not ready yet is asked for again after ``PAUSE_S``.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode, RetriableError, error_class
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.records import NewRecord, build_batch

PAUSE_S = 0.002
PATIENCE_S = 120
PARTITIONS_MAX = 200  # of one request
# The last versions that call topics by their names.
PRODUCE_VERSION, METADATA_VERSION, LIST_OFFSETS_VERSION = 9, 9, 6
LATEST = -1

_Result = TypeVar("_Result")


def connect(port: int) -> Connection:
    """A connection, which a broker that has just started may refuse a while."""
    return _until(lambda: Connection("127.0.0.1", port, timeout_s=PATIENCE_S))


def create_topic(connection: Connection, name: str, partitions: int) -> None:
    wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=60_000)
    (made,) = connection.request(request, CreateTopicsResponse, 5).topics
    if made.error_code:
        raise error_class(made.error_code)


def first_ack(connection: Connection, name: str, partition: int) -> None:
    """Ask who leads a partition, and have it acknowledge a record."""
    topic = MetadataRequestTopic(name=name)
    request = MetadataRequest(topics=[topic], allow_auto_topic_creation=False)

    def find_leader() -> None:
        response = connection.request(request, MetadataResponse, METADATA_VERSION)
        (found,) = response.topics
        by_index = {each.partition_index: each for each in found.partitions}
        _raise(found.error_code)
        if partition not in by_index:
            raise error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        _raise(by_index[partition].error_code)

    _until(find_leader)
    _until(partial(_produce, connection, name, range(partition, partition + 1)))


def produce_to_each(connection: Connection, name: str, partitions: int) -> None:
    """One record in each of the partitions."""
    for first in range(0, partitions, PARTITIONS_MAX):
        some = range(first, min(first + PARTITIONS_MAX, partitions))
        _until(partial(_produce, connection, name, some))


def _produce(connection: Connection, name: str, partitions: range) -> None:
    now_ms = time.time_ns() // 1_000_000
    batch = build_batch([NewRecord(None, b"x" * 100, now_ms)])
    data = [PartitionProduceData(index=each, records=batch) for each in partitions]
    topic = TopicProduceData(name=name, partition_data=data)
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
    answer = connection.request(request, ProduceResponse, PRODUCE_VERSION)
    for each in answer.responses[0].partition_responses:
        _raise(each.error_code)


def end_offsets(connection: Connection, name: str, partitions: int) -> int:
    """The sum of them, as soon as every partition can tell its own."""
    asked = [
        ListOffsetsPartition(partition_index=each, timestamp=LATEST)
        for each in range(partitions)
    ]
    topic = ListOffsetsTopic(name=name, partitions=asked)
    request = ListOffsetsRequest(replica_id=-1, topics=[topic])

    def ask() -> int:
        answer = connection.request(request, ListOffsetsResponse, LIST_OFFSETS_VERSION)
        for each in answer.topics[0].partitions:
            _raise(each.error_code)
        return sum(each.offset for each in answer.topics[0].partitions)

    return _until(ask)


def _raise(code: int) -> None:
    if code:
        raise error_class(code)


def _until(attempt: Callable[[], _Result]) -> _Result:
    """Its result, once it is neither refused nor told to come back."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return attempt()
        except (ConnectionRefusedError, RetriableError):
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE_S)
