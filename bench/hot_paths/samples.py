"""The records, batches and requests that the hot paths work on."""

import time

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch

TOPIC = "bench"
PRODUCE_VERSION = 9
FETCH_VERSION = 12
KIB = 1024


def batch(record_count: int, value_size: int) -> bytearray:
    """A batch as a producer sends it: no compression, no producer id."""
    now_ms = time.time_ns() // 1_000_000
    value = bytes(index * 31 & 0xFF for index in range(value_size))
    return build_batch([NewRecord(None, value, now_ms)] * record_count)


def small_batch() -> bytearray:
    """One record of 100 bytes: 170 bytes as a batch."""
    return batch(1, 100)


def large_batch() -> bytearray:
    """Fifteen records of 1 KiB: what fits into 16 KiB, the Java client's default."""
    return batch(15, KIB)


def produce_request(
    records: bytes | bytearray,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    topic = TopicProduceData(name=TOPIC, partition_data=[data])
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=30_000,
        topic_data=[topic],
    )


def produce_frame(
    records: bytes | bytearray,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
    client_id: str = "bench-client",
) -> memoryview:
    """A request without its length, writable, as the framing hands it out."""
    request = produce_request(records, partition, acks, transactional_id)
    frame = encode_request(request, PRODUCE_VERSION, 7, client_id)
    return memoryview(bytearray(frame))[4:]
