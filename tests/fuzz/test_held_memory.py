"""Nothing large is left to the garbage collector: a broker lives without one."""

import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from odradek.client.connection import Connection
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch
from tests import uncollected_broker
from tests.broker_process import BrokerProcess
from tests.clients.adapters import Confluent
from tests.fuzz.strangers import connect, ping, read_frame, reset
from tests.fuzz.test_crowds import wait_until

TOPIC, IDLE, PARTITIONS, BATCHES = "t", "idle", 4, 12
SIZE = 100_000
FETCH_VERSION, PRODUCE_VERSION = 11, 9
OPTIONS = ("-o", "log.tail.max.bytes=1000000", "--durability", "none")


class Uncollected(BrokerProcess):
    """A broker that tells what a garbage collector would find."""

    def __init__(self, directory: Path, loop: str) -> None:
        super().__init__(directory / "data", OPTIONS, loop=loop)
        self.module = "tests.uncollected_broker"
        self._report = directory / "report"
        self.environment[uncollected_broker.VARIABLE] = str(self._report)

    def garbage(self) -> list[tuple[str, int]]:
        """The large buffers in garbage since it was asked last."""
        self._report.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        wait_until(self._report.exists)
        return [(kind, size) for kind, size in json.loads(self._report.read_text())]

    def is_up(self) -> bool:
        with connect(self.port) as sock:
            return ping(sock)


@pytest.fixture(params=["uvloop", pytest.param("asyncio", marks=pytest.mark.long)])
def broker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Uncollected]:
    broker = Uncollected(tmp_path, request.param)
    broker.start()
    try:
        for topic in (TOPIC, IDLE):
            Confluent().create_topic(broker.address, topic, PARTITIONS)
        yield broker
    finally:
        broker.kill()


def batch(**options: int) -> bytes:
    return bytes(build_batch([NewRecord(b"k", os.urandom(SIZE), 1000)], **options))


def produce_request(records: bytes, acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=each, records=records) for each in range(4)]
    topic = TopicProduceData(name=TOPIC, partition_data=data)
    return ProduceRequest(acks=acks, timeout_ms=9000, topic_data=[topic])


def produce(broker: Uncollected, records: bytes | None = None) -> list[int]:
    with Connection("127.0.0.1", broker.port) as connection:
        answer = connection.request(
            produce_request(records or batch()), ProduceResponse, PRODUCE_VERSION
        )
    return [each.error_code for each in answer.responses[0].partition_responses]


def fetch_request(topic: str = TOPIC, max_wait_ms: int = 0) -> FetchRequest:
    partitions = [
        FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=9 << 20)
        for each in range(PARTITIONS)
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchTopic(topic=topic, partitions=partitions)],
    )


def fetch(broker: Uncollected) -> None:
    with Connection("127.0.0.1", broker.port) as connection:
        answer = connection.request(fetch_request(), FetchResponse, FETCH_VERSION)
    for each in answer.responses[0].partitions:
        assert len(list(scan(memoryview(each.records or b"")))) >= BATCHES


def fill(broker: Uncollected) -> None:
    for _ in range(BATCHES):
        assert produce(broker) == [0] * PARTITIONS


def chill(broker: Uncollected) -> None:
    """Have the page cache forget the segments, where it can."""
    for path in broker.data_dir.rglob("*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read_hot_and_cold(broker: Uncollected) -> None:
    fetch(broker)
    for _ in range(3):
        chill(broker)
        fetch(broker)
    chill(broker)
    asked = [
        ListOffsetsPartition(partition_index=each, timestamp=1000)
        for each in range(PARTITIONS)
    ]
    topic = ListOffsetsTopic(name=TOPIC, partitions=asked)
    request = ListOffsetsRequest(replica_id=-1, topics=[topic])
    with Connection("127.0.0.1", broker.port) as connection:
        found = connection.request(request, ListOffsetsResponse, 6)
    assert [each.offset for each in found.topics[0].partitions] == [0] * PARTITIONS


def read_in_sessions(broker: Uncollected) -> None:
    with Connection("127.0.0.1", broker.port) as connection:
        request = fetch_request()
        request.session_epoch = 0
        answer = connection.request(request, FetchResponse, FETCH_VERSION)
        goes_on = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=50 << 20,
            session_id=answer.session_id,
            session_epoch=1,
        )
        answer = connection.request(goes_on, FetchResponse, FETCH_VERSION)
        assert not answer.error_code
        assert answer.responses[0].partitions


def refuse_batches(broker: Uncollected) -> None:
    damaged = bytearray(batch())
    damaged[5000] ^= 1
    assert produce(broker, bytes(damaged)) == [2] * PARTITIONS
    assert 0 not in produce(broker, os.urandom(SIZE))


def break_off_requests(broker: Uncollected) -> None:
    whole = encode_request(produce_request(batch()), PRODUCE_VERSION, 1, "c")
    for size in (4, 100, 50_000, 200_000, len(whole) - 1):
        sock = connect(broker.port)
        assert ping(sock)
        sock.sendall(bytes(whole[:size]))
        sock.close()
        sock = connect(broker.port)
        sock.sendall(bytes(whole) + bytes(whole[:size]))
        read_frame(sock)
        reset(sock)


def send_nonsense(broker: Uncollected) -> None:
    whole = bytes(encode_request(produce_request(batch()), PRODUCE_VERSION, 1, "c"))
    for data in (
        b"GET / HTTP/1.1\r\n\r\n" + bytes(20_000),
        struct.pack(">i", -1) + bytes(20_000),
        struct.pack(">ihhi", SIZE, 0, 9, 1) + os.urandom(SIZE - 8),
        struct.pack(">ihhi", SIZE, 77, 0, 1) + bytes(SIZE - 8),
        whole[:40] + os.urandom(len(whole) - 40),
    ):
        sock = connect(broker.port)
        with sock:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1 << 20):
                pass


def vanish_with_answers_unread(broker: Uncollected) -> None:
    asks = b"".join(
        bytes(encode_request(fetch_request(), FETCH_VERSION, number, "c"))
        for number in range(10)
    )
    for _ in range(4):
        chill(broker)
        sock = connect(broker.port)
        sock.sendall(asks)
        sock.recv(1)
        reset(sock)


def vanish_while_waiting(broker: Uncollected) -> None:
    parked = bytes(encode_request(fetch_request(IDLE, 60_000), FETCH_VERSION, 1, "c"))
    waiting = bytes(encode_request(produce_request(batch()), PRODUCE_VERSION, 1, "c"))
    for _ in range(3):
        sock = connect(broker.port)
        sock.sendall(parked + waiting * 3)
        assert broker.is_up()
        reset(sock)


def consume_in_a_group(broker: Uncollected) -> None:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "g",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    assert len(consumer.consume(BATCHES, 60)) == BATCHES
    consumer.commit(asynchronous=False)
    consumer.close()


def write_transactions(broker: Uncollected) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.address, "transactional.id": "x"}
    )
    producer.init_transactions(60)
    for finish in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, os.urandom(SIZE), partition=partition)
        producer.flush(60)
        finish(60)


def begin_while_ending(broker: Uncollected) -> None:
    """Ask for the next transaction in the same breath in which the last one ends."""
    with Connection("127.0.0.1", broker.port) as connection:
        asked = InitProducerIdRequest(
            transactional_id="y", transaction_timeout_ms=60_000
        )
        given = connection.request(asked, InitProducerIdResponse, 4)
        producer = given.producer_id, given.producer_epoch
        topics = [
            AddPartitionsToTxnTopic(name=TOPIC, partitions=list(range(PARTITIONS)))
        ]
        begin = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="y",
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics,
        )
        end = EndTxnRequest(
            transactional_id="y",
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=True,
        )
        at_once = ((begin, 3), (end, 3), (begin, 3), (end, 3))
    with connect(broker.port) as sock:
        frames = [encode_request(each, version, 1, "c") for each, version in at_once]
        sock.sendall(b"".join(map(bytes, frames)))
        assert all([read_frame(sock) for _ in at_once])


LIFE: tuple[Callable[[Uncollected], None], ...] = (
    read_hot_and_cold,
    read_in_sessions,
    refuse_batches,
    break_off_requests,
    send_nonsense,
    vanish_with_answers_unread,
    vanish_while_waiting,
    consume_in_a_group,
    write_transactions,
    begin_while_ending,
)


def test_nothing_large_is_left_to_the_garbage_collector(broker: Uncollected) -> None:
    fill(broker)
    left = {"fill": broker.garbage()}
    for step in LIFE:
        step(broker)
        assert broker.is_up()
        left[step.__name__] = broker.garbage()
    assert not {name: found for name, found in left.items() if found}
    assert "Traceback" not in broker.log()
