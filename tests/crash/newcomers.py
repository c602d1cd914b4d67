"""What a broker sees for the first time, or changes, while its disk is full.

Each asks on a connection of its own: one that has to wait keeps no other.
"""

import time
from collections.abc import Callable
from typing import Any

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
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
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from odradek.protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request, Response
from tests.patience import PATIENCE_S

_TOPIC = 2
# What a client tries again after.
NOT_YET = {
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


class Newcomer:
    """One request, asked until it is done. ``done_as`` are codes that say so."""

    def __init__(
        self,
        port: int,
        request: Request,
        kind: tuple[type[Response], int],
        code_of: Callable[[Any], int],
        done_as: int = 0,
    ) -> None:
        self._link = Connection("127.0.0.1", port, timeout_s=PATIENCE_S)
        self._request = request
        self._response_class, self._version = kind
        self._code_of = code_of
        self._done = {0, done_as}
        self._correlation_id = -1

    def ask(self) -> None:
        """Send the request, and wait for nothing."""
        self._correlation_id = self._link.send(self._request, self._version)

    def answer(self) -> int:
        """The code of the answer; 0 when it is done."""
        answer = self._link.receive_answer(
            self._correlation_id, self._response_class, self._version
        )
        code = self._code_of(answer)
        assert code in self._done | NOT_YET, (self._request, ErrorCode(code).name)
        return 0 if code in self._done else code

    def insist(self) -> None:
        """Ask until it is done; for when there is room."""
        deadline = time.monotonic() + PATIENCE_S
        self.ask()
        while self.answer():
            assert time.monotonic() < deadline, f"does not go on: {self._request}"
            time.sleep(0.02)
            self.ask()

    def close(self) -> None:
        self._link.close()


def writes(port: int, topic: str) -> Newcomer:
    """The first records of a partition."""
    record = NewRecord(b"k", bytes(10), time.time_ns() // 1_000_000)
    data = PartitionProduceData(index=0, records=bytes(build_batch([record])))
    request = ProduceRequest(
        acks=-1,
        timeout_ms=PATIENCE_S * 1000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    return Newcomer(
        port,
        request,
        (ProduceResponse, 9),
        lambda answer: answer.responses[0].partition_responses[0].error_code,
    )


def commits(port: int, group_id: str, topic: str) -> Newcomer:
    """The first commit of a group."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return Newcomer(
        port,
        OffsetCommitRequest(group_id=group_id, topics=topics),
        (OffsetCommitResponse, 8),
        lambda answer: answer.topics[0].partitions[0].error_code,
    )


def begins(port: int, transactional_id: str) -> Newcomer:
    """A transactional id that nobody has used."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=10_000
    )
    kind = InitProducerIdResponse, 4
    return Newcomer(port, request, kind, lambda answer: answer.error_code)


def creates(port: int, topic: str) -> Newcomer:
    """A topic that is made."""
    wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=PATIENCE_S * 1000)
    return Newcomer(
        port,
        request,
        (CreateTopicsResponse, 5),
        lambda answer: answer.topics[0].error_code,
        ErrorCode.TOPIC_ALREADY_EXISTS,
    )


def deletes(port: int, topic: str) -> Newcomer:
    """A topic that is deleted; nobody sees it any more though it is not all done."""
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=PATIENCE_S * 1000)
    return Newcomer(
        port,
        request,
        (DeleteTopicsResponse, 5),
        lambda answer: answer.responses[0].error_code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )


def alters(port: int, topic: str) -> Newcomer:
    """A topic whose options change."""
    config = AlterableConfig(name="retention.ms", config_operation=0, value="3600000")
    resource = AlterConfigsResource(
        resource_type=_TOPIC, resource_name=topic, configs=[config]
    )
    return Newcomer(
        port,
        IncrementalAlterConfigsRequest(resources=[resource]),
        (IncrementalAlterConfigsResponse, 1),
        lambda answer: answer.responses[0].error_code,
    )
