"""A producer beside what is measured: how long do its acknowledgements take?"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from targets import Broker

from odradek.client.connection import Connection
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch

PAUSE_S = 0.002
WITH_NAMES = 9  # of Produce


@contextmanager
def producing(broker: Broker, name: str) -> Iterator[list[float]]:
    """Seconds that produces took, one after another, in a thread.

    A record of 100 bytes each, to partition 0; what is refused is not counted.
    """
    took: list[float] = []
    stop = threading.Event()
    batch = build_batch([NewRecord(b"key", bytes(100), time.time_ns() // 1_000_000)])
    data = PartitionProduceData(index=0, records=bytes(batch))
    topic = TopicProduceData(name=name, partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])

    def run() -> None:
        with Connection("127.0.0.1", broker.port) as connection:
            while not stop.is_set():
                asked = time.perf_counter()
                answer = connection.request(request, ProduceResponse, WITH_NAMES)
                if not answer.responses[0].partition_responses[0].error_code:
                    took.append(time.perf_counter() - asked)
                stop.wait(PAUSE_S)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield took
    finally:
        stop.set()
        thread.join()
