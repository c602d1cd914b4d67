"""What committed readers find in a broker, and what its coordinator has written."""

from collections.abc import Iterable
from typing import Any, Protocol

from odradek.broker.coordinator.transaction import records as transaction_records
from odradek.broker.coordinator.transaction.transaction import Transaction
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.protocol.schema import Request
from odradek.protocol.topic_partition import TopicPartition
from tests.crash.transaction_account import Visible
from tests.crash.transaction_broker import TransactionBroker
from tests.crash.transaction_producer import SOURCE

FETCH_VERSION = 12
LIST_OFFSETS_VERSION = 7
EARLIEST = -2
OFFSET_FETCH_VERSION = 7
READ_COMMITTED = 1
# Less than most transactions: lists of aborted ones come in parts.
FETCH_SIZE = 1000


class Asker(Protocol):
    """A broker, or a connection to one."""

    async def ask(self, request: Request, version: int) -> Any: ...


async def read_committed(
    broker: Asker, where: TopicPartition, size_max: int = FETCH_SIZE
) -> list[bytes]:
    """Every value that a consumer of committed records gets, in their order."""
    values: list[bytes] = []
    # Without durability a power cut may take the first segment.
    offset = await log_start(broker, where)
    while True:
        found = await fetch(broker, where, offset, size_max)
        assert found.error_code == ErrorCode.NONE, ErrorCode(found.error_code)
        data = memoryview(found.records or b"")
        batches = [
            (header, data[position : position + header.size])
            for position, header in scan(data)
            if position + header.size <= len(data)
        ]
        if not batches:
            assert offset >= found.last_stable_offset
            return values
        values += _committed(batches, found.aborted_transactions or [], offset)
        offset = batches[-1][0].next_offset


def _committed(batches: list[Any], aborted: list[Any], offset: int) -> list[bytes]:
    """What a consumer keeps of one answer; see KafkaConsumer's CompletedFetch."""
    pending = sorted(aborted, key=lambda each: -each.first_offset)
    skipped: set[int] = set()
    values = []
    for header, batch in batches:
        while pending and pending[-1].first_offset <= header.last_offset:
            skipped.add(pending.pop().producer_id)
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.is_commit:
                skipped.discard(header.producer_id)
            continue
        if header.is_transactional and header.producer_id in skipped:
            continue
        values += [
            bytes(each.value)
            for each in iterate(batch)
            if each.offset >= offset and each.value is not None
        ]
    return values


async def log_start(broker: Asker, where: TopicPartition) -> int:
    wanted = ListOffsetsPartition(partition_index=where.partition, timestamp=EARLIEST)
    topic = ListOffsetsTopic(name=where.topic, partitions=[wanted])
    request = ListOffsetsRequest(replica_id=-1, topics=[topic])
    response = await broker.ask(request, LIST_OFFSETS_VERSION)
    (found,) = response.topics[0].partitions
    assert found.error_code == ErrorCode.NONE, ErrorCode(found.error_code)
    return int(found.offset)


async def fetch(
    broker: Asker, where: TopicPartition, offset: int, size_max: int
) -> Any:
    """What the broker answers about one partition."""
    wanted = FetchPartition(
        partition=where.partition, fetch_offset=offset, partition_max_bytes=size_max
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=size_max,
        isolation_level=READ_COMMITTED,
        topics=[FetchTopic(topic=where.topic, partitions=[wanted])],
    )
    response = await broker.ask(request, FETCH_VERSION)
    return response.responses[0].partitions[0]


async def read_all(
    broker: Asker, partitions: Iterable[TopicPartition], size_max: int = FETCH_SIZE
) -> Visible:
    return {each: await read_committed(broker, each, size_max) for each in partitions}


async def committed_offset(
    broker: Asker, transactional_id: str, *, require_stable: bool = False
) -> int:
    """The offset of the group of this producer; -1 for none."""
    topic = OffsetFetchRequestTopic(
        name=SOURCE.topic, partition_indexes=[SOURCE.partition]
    )
    request = OffsetFetchRequest(
        group_id=f"group of {transactional_id}",
        topics=[topic],
        require_stable=require_stable,
    )
    while True:
        response = await broker.ask(request, OFFSET_FETCH_VERSION)
        if response.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
    (partition,) = response.topics[0].partitions
    assert partition.error_code == ErrorCode.NONE, ErrorCode(partition.error_code)
    return int(partition.committed_offset)


def written_transactions(broker: TransactionBroker) -> dict[str, Transaction]:
    """The last state of each transactional id in the log of the coordinator."""
    found: dict[str, Transaction] = {}
    for each in broker.logs.directories_of():
        if each.topic != TRANSACTION_STATE:
            continue
        log = broker.log_of(each)
        offset = log.log_start_offset
        while len(data := log.read(offset, 1 << 20, may_block=True).records):
            for position, header in scan(data):
                batch = memoryview(data)[position : position + header.size]
                for record in iterate(batch):
                    assert record.key is not None
                    read = transaction_records.decode(record.key, record.value)
                    if read is not None and read.transaction is not None:
                        found[read.transactional_id] = read.transaction
                offset = header.next_offset
    return found


def unstable_partitions(broker: TransactionBroker) -> set[TopicPartition]:
    """Where readers of committed records wait for the end of a transaction."""
    found = set()
    for each in broker.logs.directories_of():
        if each.topic in (TRANSACTION_STATE, SOURCE.topic):
            continue
        log = broker.log_of(each)
        if log.last_stable_offset < log.log_end_offset:
            found.add(each)
    return found
