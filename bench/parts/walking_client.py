"""A client that asks one thing at a time, always in the same way: for `walks.py`."""

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
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
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
from odradek.protocol.messages.transactions import (
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.records import BatchFields, NewRecord, build_batch

TOPIC = "walks"
GROUP = TRANSACTIONAL_ID = "walker"
PRODUCE_VERSION, FETCH_VERSION, COMMIT_VERSION = 12, 16, 9
TOPIC_RESOURCE = 2
MIB = 1 << 20
TRIES, PAUSE_S = 100, 0.1


class Asker:
    """Two connections: one that asks, one that writes what a waiting fetch hears of."""

    def __init__(self, port: int) -> None:
        self._link = Connection("127.0.0.1", port, client_id="asker")
        self._writer = Connection("127.0.0.1", port, client_id="writer")
        self._topic_id = _until(self._find_topic)
        self._end_offset = 0
        self._session = (0, 0)
        for key_type in (0, 1):
            request = FindCoordinatorRequest(
                key=GROUP, key_type=key_type, coordinator_keys=[GROUP]
            )
            self._link.request(request, FindCoordinatorResponse)
        for _ in range(3):  # the partitions are there, and have a first batch
            self.produce_two()
        _until(lambda: not self._commit())
        self._producer = _until(self._find_producer)
        _until(lambda: not self._begin())
        self.end()

    def close(self) -> None:
        self._link.close()
        self._writer.close()

    def nothing(self) -> None:
        """Ask nothing."""

    # Produce

    def produce_one(self) -> None:
        self._produce(self._link, acks=1)

    def produce_all(self) -> None:
        self._produce(self._link)

    def produce_two(self) -> None:
        self._produce(self._link, partitions=(0, 1))

    def write(self) -> None:
        self._produce(self._writer)

    def _produce(
        self, link: Connection, acks: int = -1, partitions: tuple[int, ...] = (0,)
    ) -> None:
        request = ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[])
        answer = self._send_batch(link, request, partitions)
        assert not answer.error_code, answer
        self._end_offset = answer.base_offset + 1

    def _send_batch(
        self,
        link: Connection,
        request: ProduceRequest,
        partitions: tuple[int, ...],
        fields: BatchFields | None = None,
    ) -> Any:
        """The answer for the first of them."""
        record = NewRecord(None, bytes(100), time.time_ns() // 1_000_000)
        data = [
            PartitionProduceData(
                index=index, records=build_batch([record], **(fields or {}))
            )
            for index in partitions
        ]
        request.topic_data = [TopicProduceData(name=TOPIC, partition_data=data)]
        answer = link.request(request, ProduceResponse, PRODUCE_VERSION)
        return answer.responses[0].partition_responses[0]

    # Fetch

    def fetch(self) -> None:
        answer = self._link.request(self._fetch(-1), FetchResponse, FETCH_VERSION)
        assert answer.responses[0].partitions[0].records

    def fetch_in_session(self) -> None:
        if not self._session[0]:
            request = self._fetch(-1, self._session)
            answer = self._link.request(request, FetchResponse, FETCH_VERSION)
            self._session = answer.session_id, 1
        request = self._fetch(-1, self._session)
        answer = self._link.request(request, FetchResponse, FETCH_VERSION)
        assert not answer.error_code, answer
        self._session = answer.session_id, self._session[1] + 1

    def wait(self) -> None:
        """Ask for what comes next."""
        self._link.send(self._fetch(0), FETCH_VERSION)

    def write_and_wait(self) -> None:
        self.write()
        self.wait()

    def wake(self) -> None:
        self.write()
        self.hear()

    def hear(self) -> None:
        """Take the answer that was waited for."""
        self._link.receive(FetchRequest.api_key, FETCH_VERSION)

    def _fetch(self, distance: int, session: tuple[int, int] = (0, -1)) -> FetchRequest:
        partition = FetchPartition(
            partition=0,
            fetch_offset=self._end_offset + distance,
            partition_max_bytes=MIB,
        )
        return FetchRequest(
            max_wait_ms=30_000,
            min_bytes=1,
            session_id=session[0],
            session_epoch=session[1],
            topics=[FetchTopic(topic_id=self._topic_id, partitions=[partition])],
        )

    # Groups and transactions

    def commit(self) -> None:
        error_code = self._commit()
        assert not error_code, error_code

    def begin(self) -> None:
        """Produce the first batch of a transaction, by the second protocol."""
        _until(lambda: not self._begin())

    def end(self) -> None:
        producer_id, epoch = self._producer
        request = EndTxnRequest(
            transactional_id=TRANSACTIONAL_ID,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=True,
        )
        answer = self._link.request(request, EndTxnResponse)
        assert not answer.error_code, answer
        self._producer = answer.producer_id, answer.producer_epoch

    def _commit(self) -> int:
        offset = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=self._end_offset
        )
        topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[offset])]
        request = OffsetCommitRequest(group_id=GROUP, topics=topics)
        answer = self._link.request(request, OffsetCommitResponse, COMMIT_VERSION)
        return answer.topics[0].partitions[0].error_code

    def _begin(self) -> int:
        request = ProduceRequest(
            transactional_id=TRANSACTIONAL_ID, acks=-1, timeout_ms=30_000, topic_data=[]
        )
        fields = BatchFields(
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            base_sequence=0,
            is_transactional=True,
        )
        answer = self._send_batch(self._link, request, (0,), fields)
        if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
            self._end_offset = answer.base_offset + 2  # a marker will follow
        return int(answer.error_code)

    # Options

    def alter(self) -> None:
        """Change one of the options that the topic sets, in both its partitions."""
        self._alter(("retention.ms", str(time.time_ns() // 1_000_000)))

    def choose(self) -> None:
        """Let the topic set some options."""
        self._alter(("retention.ms", "-1"), ("segment.ms", "9000"), ("flush.ms", "90"))

    def _alter(self, *options: tuple[str, str]) -> None:
        configs = [AlterableConfig(name=name, value=value) for name, value in options]
        resource = AlterConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=TOPIC, configs=configs
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = self._link.request(request, IncrementalAlterConfigsResponse)
        assert not answer.responses[0].error_code, answer

    def _find_topic(self) -> bytes | None:
        topics = [MetadataRequestTopic(name=TOPIC)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=True)
        found = self._link.request(request, MetadataResponse).topics[0]
        return None if found.error_code else found.topic_id

    def _find_producer(self) -> tuple[int, int] | None:
        request = InitProducerIdRequest(
            transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000
        )
        answer = self._link.request(request, InitProducerIdResponse)
        if answer.error_code:
            return None
        return answer.producer_id, answer.producer_epoch


def _until(ask: Callable[[], Any]) -> Any:
    """What ``ask`` gives, once it gives anything."""
    for _ in range(TRIES):
        if found := ask():
            return found
        time.sleep(PAUSE_S)
    raise TimeoutError("the broker does not become ready")
