"""Transactions in a running broker, and such as hang there.

For what hangs the broker must not verify transactions: `NO_VERIFICATION`.
"""

import time

from odradek.client.cluster import TRANSACTION, Cluster
from odradek.client.errors import raise_for
from odradek.client.metadata import Broker
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition

NO_VERIFICATION = ("-o", "transaction.partition.verification.enable=false")
TIMEOUT_MS = 60_000


class Producer:
    """A producer of the first protocol, which has begun."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        self.cluster = cluster
        self.transactional_id = transactional_id
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS
        )

        def begin(coordinator: Broker) -> InitProducerIdResponse:
            answer = cluster.request(
                request, InitProducerIdResponse, coordinator.node_id
            )
            raise_for(answer.error_code)
            return answer

        answer = cluster.at_coordinator(transactional_id, begin, TRANSACTION)
        self.node_id = cluster.coordinator(transactional_id, TRANSACTION).node_id
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def add(self, *places: TopicPartition) -> None:
        """Let these partitions take part."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[partition])
                for topic, partition in places
            ],
        )
        answer = self.cluster.request(
            request, AddPartitionsToTxnResponse, self.node_id, version_max=3
        )
        for topic in answer.results_by_topic_v3_and_below:
            for each in topic.results_by_partition:
                raise_for(each.partition_error_code)

    def write(self, place: TopicPartition) -> int:
        """One record; where it went."""
        return write(
            self.cluster,
            place,
            self.producer_id,
            self.epoch,
            transactional_id=self.transactional_id,
        )

    def end(self, *, commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        answer = self.cluster.request(
            request, EndTxnResponse, self.node_id, version_max=4
        )
        raise_for(answer.error_code)


def write(
    cluster: Cluster,
    place: TopicPartition,
    producer_id: int,
    epoch: int = 0,
    *,
    timestamp_ms: int | None = None,
    transactional_id: str = "nobody",
) -> int:
    """One record of a transaction, whoever knows of it; its offset."""
    now_ms = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
    batch = build_batch(
        [NewRecord(b"key", b"value", now_ms)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0,
        is_transactional=True,
    )
    data = PartitionProduceData(index=place.partition, records=batch)
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=place.topic, partition_data=[data])],
    )
    answer = cluster.request(request, ProduceResponse, version_max=11)
    (partition,) = answer.responses[0].partition_responses
    raise_for(partition.error_code)
    return partition.base_offset
