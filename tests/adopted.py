"""Directories of Apache Kafka, adopted and served by a whole broker."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from odradek.broker.adoption.adoption import Adoption, AdoptionRequest, adopt
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import Record, iterate
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

GOLDEN = Path(__file__).parent / "golden" / "kafka-4.3.1"
METADATA_GOLDEN = Path(__file__).parent / "golden" / "kafka-4.3.1-metadata"
WITH_TOPIC_NAMES = 12
FETCH_SIZE = 1 << 20

Result = TypeVar("Result")


class Read(NamedTuple):
    """What a consumer saw from the beginning to the end of a partition."""

    records: list[Any]
    epochs: dict[int, int]
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int

    @property
    def offsets(self) -> list[int]:
        return [record[0] for record in self.records]


def copy_case(source: Path, target: Path) -> dict[str, Any]:
    """Copy what is in ``source``; what Kafka answered about it."""
    shutil.copytree(source, target)
    expected = json.loads((target / "expected.json").read_text())
    assert isinstance(expected, dict)
    return expected


def adopt_directories(
    *directories: Path, is_dry_run: bool = False, **options: Any
) -> Adoption:
    options.setdefault("catalog_directory", directories[0])
    request = AdoptionRequest(directories, **options)
    return adopt(request, BrokerConfig(), is_dry_run=is_dry_run)


@contextlib.asynccontextmanager
async def serving(
    *directories: Path, now_ms: int, **options: Any
) -> AsyncIterator[tuple[Server, FakeClock]]:
    """A broker on the directories, with a clock near the time they were written."""
    options.setdefault("listeners", (Address("PLAINTEXT", "127.0.0.1", 0),))
    options.setdefault("log_min_free_bytes", 0)
    clock = FakeClock(now_ms)
    server = Server(BrokerConfig(log_dirs=directories, **options), clock=clock)
    await server.start()
    try:
        yield server, clock
    finally:
        await server.stop()
        assert server.bugs.count == 0


async def ask(server: Server, talk: Callable[["Consumer"], Result]) -> Result:
    port = server.listeners[0].port

    def run() -> Result:
        with Connection("127.0.0.1", port, timeout_s=PATIENCE_S) as connection:
            return talk(Consumer(connection))

    return await asyncio.to_thread(run)


class Consumer:
    """Asks what a client's consumer asks."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def topics(self) -> dict[str, MetadataResponseTopic]:
        request = MetadataRequest(topics=None)
        answer = self.connection.request(request, MetadataResponse, WITH_TOPIC_NAMES)
        return {topic.name or "": topic for topic in answer.topics}

    def offset(
        self, partition: str, timestamp: int, isolation_level: int = 0
    ) -> ListOffsetsPartitionResponse:
        topic, number = split(partition)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=number, timestamp=timestamp
                        )
                    ],
                )
            ],
        )
        answer = self.connection.request(request, ListOffsetsResponse, 8)
        (found,) = answer.topics[0].partitions
        assert found.error_code == 0, (partition, timestamp, found)
        return found

    def read(self, partition: str, start: int, isolation_level: int = 0) -> Read:
        """All records that are shown to a consumer, from ``start`` on."""
        records: list[Any] = []
        epochs: dict[int, int] = {}
        offset, aborted = start, set[int]()
        while True:
            data = self.fetch(partition, offset, isolation_level)
            if not data.records:
                return Read(
                    records,
                    epochs,
                    data.high_watermark,
                    data.last_stable_offset,
                    data.log_start_offset,
                )
            begins = data.aborted_transactions or []
            for batch, header in batches(data.records):
                aborted |= _begun(begins, header.last_offset)
                begins = [
                    each for each in begins if each.first_offset > header.last_offset
                ]
                if header.is_control:
                    aborted.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in aborted):
                    found = [each for each in iterate(batch) if each.offset >= offset]
                    records += [shown(each, header) for each in found]
                    epochs |= {
                        each.offset: header.partition_leader_epoch for each in found
                    }
            offset = header.next_offset

    def fetch(self, partition: str, offset: int, isolation_level: int) -> PartitionData:
        topic, number = split(partition)
        request = FetchRequest(
            max_wait_ms=0,
            max_bytes=FETCH_SIZE,
            isolation_level=isolation_level,
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[
                        FetchPartition(
                            partition=number,
                            fetch_offset=offset,
                            partition_max_bytes=FETCH_SIZE,
                        )
                    ],
                )
            ],
        )
        answer = self.connection.request(request, FetchResponse, WITH_TOPIC_NAMES)
        (found,) = answer.responses[0].partitions
        assert found.error_code == 0, (partition, offset, found)
        return found


def batches(data: Any) -> Iterator[tuple[memoryview, Any]]:
    for position, header in scan(data):
        yield memoryview(data)[position : position + header.size], header


def _begun(begins: list[AbortedTransaction], last_offset: int) -> set[int]:
    return {each.producer_id for each in begins if each.first_offset <= last_offset}


def shown(record: Record, header: Any) -> list[Any]:
    """A record as ``expected.json`` has it."""
    return [
        record.offset,
        record.timestamp,
        "LogAppendTime" if header.is_log_append_time else "CreateTime",
        header.partition_leader_epoch,
        None if record.key is None else record.key.hex(),
        None if record.value is None else record.value.hex(),
        [
            [name, None if value is None else value.hex()]
            for name, value in record.headers
        ],
    ]


def split(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number)
