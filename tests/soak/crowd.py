"""Who is at a broker all day: each does a part of its work in a turn, and keeps on.

What they write is bounded by retention and compaction, so a broker that they have
warmed up has nothing to grow for.
"""

import contextlib
import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
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
from tests.broker_process import BrokerProcess
from tests.fuzz.strangers import connect, reset
from tests.patience import PATIENCE_S

NUMBERS, TABLE = "numbers", "table"
PARTITIONS = 6
RETAINED_BYTES = 8 << 20  # of a partition, in segments of 2 MiB
KEYS = 500
LIVES = 8  # turns after which a client is started anew
BROKEN_BYTES = 5 << 20

IDEMPOTENT = {"enable.idempotence": True, "linger.ms": 2}
TAIL = {
    "group.id": "tail",
    "auto.offset.reset": "earliest",
    "max.poll.interval.ms": PATIENCE_S * 1000,  # a turn may take long
}
RETAINED = {
    "segment.bytes": str(2 << 20),
    "retention.bytes": str(RETAINED_BYTES),
    "file.delete.delay.ms": "100",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.1",
    "file.delete.delay.ms": "100",
}


class Crowd:
    """All of them; `turn` lets each do its part once."""

    def __init__(self, broker: BrokerProcess, chance: random.Random) -> None:
        self.broker = broker
        self.count = 0  # of turns
        self._chance = chance
        self._admin = confluent_kafka.admin.AdminClient(self._options())
        self._create(NUMBERS, PARTITIONS, RETAINED)
        self._create(TABLE, 1, COMPACTED)
        self._producer = confluent_kafka.Producer(self._options(**IDEMPOTENT))
        self._tail = self._new_tail()
        self._parts: list[Callable[[], None]] = [
            self._produce,
            self._change_table,
            self._transact,
            self._read_tail,
            self._catch_up,
            self._break_off,
            self._ask_and_not_read,
            self._make_and_delete,
        ]

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        self._tail.close()
        del self._tail, self._producer, self._admin  # which ends their connections

    def turn(self) -> None:
        """Everybody's part, in another order each time."""
        self.count += 1
        self._chance.shuffle(self._parts)
        for part in self._parts:
            part()
        if self.count % LIVES == 0:
            self._producer = confluent_kafka.Producer(self._options(**IDEMPOTENT))
            self._tail.close()
            self._tail = self._new_tail()

    def _options(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.broker.address, "log_level": 0, **more}

    def _create(self, name: str, partitions: int, config: dict[str, str]) -> None:
        topic = confluent_kafka.admin.NewTopic(name, partitions, 1, config=config)
        self._admin.create_topics([topic])[name].result(PATIENCE_S)

    # Producers

    def _produce(self) -> None:
        value = self._chance.randbytes(1000)
        for number in range(1500):
            self._producer.produce(NUMBERS, value, partition=number % PARTITIONS)
            self._producer.poll(0)
        assert self._producer.flush(PATIENCE_S) == 0

    def _change_table(self) -> None:
        for _ in range(KEYS):
            key = b"%d" % self._chance.randrange(KEYS)
            self._producer.produce(TABLE, bytes(500), key)
            self._producer.poll(0)
        assert self._producer.flush(PATIENCE_S) == 0

    def _transact(self) -> None:
        """One that commits and one that aborts, of clients that live for these."""
        for name, ends in ("kept", "commit"), ("dropped", "abort"):
            options = self._options(**{"transactional.id": name})
            producer = confluent_kafka.Producer(options)
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce(NUMBERS, name.encode(), partition=partition)
            producer.flush(PATIENCE_S)
            getattr(producer, f"{ends}_transaction")(PATIENCE_S)

    # Consumers

    def _new_tail(self) -> confluent_kafka.Consumer:
        consumer = confluent_kafka.Consumer(self._options(**TAIL))
        consumer.subscribe([NUMBERS])
        return consumer

    def _read_tail(self) -> None:
        """Something new, and commits how far it has come."""
        self._produce()
        for message in self._tail.consume(1000, PATIENCE_S):
            assert message.error() is None, message.error()
        self._tail.commit(asynchronous=False)

    def _catch_up(self) -> None:
        """Every partition from its beginning, of a disk that has forgotten all."""
        with Connection("127.0.0.1", self.broker.port, timeout_s=PATIENCE_S) as link:
            starts = self._starts(link)
            for _ in range(4):
                _forget_pages(self.broker.data_dir)
                answer = link.request(_fetch(starts), FetchResponse, 11)
                [topic] = answer.responses
                for each in topic.partitions:
                    assert each.error_code in (
                        ErrorCode.NONE,
                        ErrorCode.OFFSET_OUT_OF_RANGE,  # retention was faster
                    )

    def _starts(self, link: Connection) -> list[int]:
        wanted = [
            ListOffsetsPartition(partition_index=number, timestamp=-2)
            for number in range(PARTITIONS)
        ]
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=NUMBERS, partitions=wanted)]
        )
        answer = link.request(request, ListOffsetsResponse, 5)
        return [each.offset for each in answer.topics[0].partitions]

    # Who behaves badly

    def _break_off(self) -> None:
        """Ends in the middle of a request that is large."""
        frame = struct.pack(">i", 2 * BROKEN_BYTES) + struct.pack(">hhih", 0, 9, 1, -1)
        for _ in range(3):
            link = connect(self.broker.port)
            link.sendall(frame + bytes(BROKEN_BYTES))
            reset(link)

    def _ask_and_not_read(self) -> None:
        """Has begun to read the first of several answers when it goes."""
        with Connection("127.0.0.1", self.broker.port, timeout_s=PATIENCE_S) as link:
            request = encode_request(_fetch(self._starts(link)), 11, 1, "glutton")
        for _ in range(3):
            glutton = connect(self.broker.port)
            glutton.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            glutton.sendall(bytes(request) * 3)
            assert glutton.recv(100)
            reset(glutton)

    def _make_and_delete(self) -> None:
        name = f"short-{self.count}"
        self._create(name, 3, {})
        self._producer.produce(name, bytes(100), partition=0)
        assert self._producer.flush(PATIENCE_S) == 0
        self._admin.delete_topics([name])[name].result(PATIENCE_S)


def _fetch(offsets: list[int]) -> FetchRequest:
    """Up to a megabyte of each partition, as the Java client asks."""
    wanted = [
        FetchPartition(
            partition=number, fetch_offset=offset, partition_max_bytes=1 << 20
        )
        for number, offset in enumerate(offsets)
    ]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50 << 20,
        topics=[FetchTopic(topic=NUMBERS, partitions=wanted)],
    )


def _forget_pages(data_dir: Path) -> None:
    """Let the kernel drop what it has of the logs: the next read is of the disk."""
    for path in _logs(data_dir):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _logs(data_dir: Path) -> Iterator[Path]:
    return data_dir.glob(f"{NUMBERS}-*/*.log")
