"""Transactions that Apache Kafka's coordinator wrote, taken over by ours."""

import contextlib
import json
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from odradek.broker.node.server import Server
from odradek.client.errors import raise_for
from odradek.protocol.errors import CoordinatorLoadInProgress, ErrorCode
from odradek.protocol.messages.offsets import OffsetFetchRequest, OffsetFetchResponse
from odradek.protocol.messages.transactions import EndTxnRequest, EndTxnResponse
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from odradek.protocol.record_batch import scan
from tests.adopted import GOLDEN, Consumer, adopt_directories, ask, copy_case, serving
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

CASES = ("transaction-state", "txn-interleaved", "unclean-txn")
STATES = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
}
PREPARED = 3  # the record of transaction-state that says so
OFFSETS_SENT = 2  # the record before the marker
READ_COMMITTED = 1
LATEST = -1
CHECK_INTERVAL_MS = 10_000  # of timeouts, by default

Result = TypeVar("Result")


class Transaction(NamedTuple):
    """What is known of a transactional id."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int
    partitions: frozenset[str]


class Case:
    """A case that was copied, and what Kafka's tools said of it."""

    def __init__(self, name: str, tmp_path: Path) -> None:
        self.expected = copy_case(GOLDEN / name, tmp_path / name)
        self.directory = tmp_path / name / "log-dir"
        self.now_ms = int(self.expected["written_at_ms"]) + 1000

    def transactions(self) -> dict[str, Transaction]:
        """The last record of each transactional id."""
        files = self.expected["on_disk"]["__transaction_state-0"]
        lines = [
            line
            for name, batches in files.items()
            if name.endswith(".log")
            for batch in batches
            for line in batch["records"]
        ]
        found = [_recorded(line) for line in lines]
        return {each.transactional_id: each for each in found}


def _recorded(line: str) -> Transaction:
    """A record as Kafka's dump tool prints it."""
    key, _, value = line.partition(" payload: ")
    data = json.loads(value)["data"]
    return Transaction(
        json.loads(key.partition(" key: ")[2])["data"]["transactionalId"],
        STATES[data["transactionStatus"]],
        data["producerId"],
        data["producerEpoch"],
        data["transactionTimeoutMs"],
        data["transactionStartTimestampMs"],
        frozenset(
            f"{each['topic']}-{number}"
            for each in data["transactionPartitions"] or ()
            for number in each["partitionIds"]
        ),
    )


def described(names: Collection[str], consumer: Consumer) -> dict[str, Transaction]:
    """What the coordinator says of these."""
    request = DescribeTransactionsRequest(transactional_ids=list(names))
    answer = consumer.connection.request(request, DescribeTransactionsResponse, 0)
    for each in answer.transaction_states:
        raise_for(each.error_code)
    return {
        each.transactional_id: Transaction(
            each.transactional_id,
            each.transaction_state,
            each.producer_id,
            each.producer_epoch,
            each.transaction_timeout_ms,
            each.transaction_start_time_ms,
            frozenset(
                f"{topic.topic}-{number}"
                for topic in each.topics
                for number in topic.partitions
            ),
        )
        for each in answer.transaction_states
    }


def listed(consumer: Consumer) -> set[str]:
    answer = consumer.connection.request(
        ListTransactionsRequest(), ListTransactionsResponse, 0
    )
    raise_for(answer.error_code)
    return {each.transactional_id for each in answer.transaction_states}


async def loaded(server: Server, talk: Callable[[Consumer], Result]) -> Result:
    """The answer of a coordinator that has read its log."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(CoordinatorLoadInProgress):
            return await ask(server, talk)
    raise AssertionError("loading for ever")


@pytest.mark.parametrize("name", CASES)
async def test_the_coordinator_knows_what_apache_kafka_knew(
    tmp_path: Path, name: str
) -> None:
    case = Case(name, tmp_path)
    adopt_directories(case.directory)
    expected = case.transactions()
    assert expected
    async with serving(case.directory, now_ms=case.now_ms) as (server, _):
        assert await loaded(server, listed) == set(expected)
        found = await loaded(server, partial(described, expected))
    assert found == expected


@pytest.mark.parametrize(
    ("name", "transactional_id", "partition", "behind"),
    [
        ("transaction-state", "etl-2", "a-0", []),
        ("unclean-txn", "txn-1", "ut-0", [53]),
    ],
)
async def test_what_was_open_is_aborted_in_its_time(
    tmp_path: Path,
    name: str,
    transactional_id: str,
    partition: str,
    behind: list[int],
) -> None:
    case = Case(name, tmp_path)
    adopt_directories(case.directory)
    before = case.transactions()[transactional_id]
    assert before.state == "Ongoing"
    async with serving(case.directory, now_ms=case.now_ms) as (server, clock):
        read = await ask(server, lambda one: one.read(partition, 0, READ_COMMITTED))
        end = await end_of(server, partition)
        assert read.last_stable_offset < end
        left_ms = before.start_ms + before.timeout_ms - clock.now_ms()
        await clock.tick(left_ms - 1000)
        assert await state_of(server, transactional_id) == before
        await clock.tick(1000 + CHECK_INTERVAL_MS)
        after = await until(server, clock, transactional_id, "CompleteAbort")
        assert after.producer_id == before.producer_id
        assert after.producer_epoch == before.producer_epoch + 1
        again = await ask(server, lambda one: one.read(partition, 0, READ_COMMITTED))
        refused = await ask(server, partial(commit, before))
    assert refused == ErrorCode.PRODUCER_FENCED
    assert again.last_stable_offset == again.high_watermark == end + 1
    assert again.offsets == read.offsets + behind


async def state_of(server: Server, transactional_id: str) -> Transaction:
    found = await loaded(server, partial(described, [transactional_id]))
    return found[transactional_id]


async def until(
    server: Server, clock: FakeClock, transactional_id: str, state: str
) -> Transaction:
    """The transaction, when it is in this state. Its records wait for the disk."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := await state_of(server, transactional_id)).state != state:
        assert time.monotonic() < deadline, found
        await clock.tick(1)
    return found


async def end_of(server: Server, partition: str) -> int:
    found = await ask(server, lambda one: one.offset(partition, LATEST))
    return int(found.offset)


def commit(transaction: Transaction, consumer: Consumer) -> int:
    """What the producer of a transaction hears that wants to commit it."""
    request = EndTxnRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        committed=True,
    )
    return consumer.connection.request(request, EndTxnResponse, 4).error_code


async def test_what_was_to_be_committed_is_committed(tmp_path: Path) -> None:
    """Killed when the commit was decided, before the first marker was written."""
    case = Case("transaction-state", tmp_path)
    for name, record in (
        ("__transaction_state-0", PREPARED),
        ("__consumer_offsets-0", OFFSETS_SENT),
        ("a-0", 0),
        ("a-1", 0),
    ):
        cut_behind(case.directory / name, record)
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (case.directory / name).unlink()
    adopt_directories(case.directory)
    async with serving(case.directory, now_ms=case.now_ms) as (server, clock):
        found = await until(server, clock, "etl-1", "CompleteCommit")
        assert found.producer_epoch == 1
        read = await ask(server, lambda one: one.read("a-0", 0, READ_COMMITTED))
        assert await loaded(server, partial(committed, "etl")) == {"b-0": 3}
    assert (read.offsets, read.last_stable_offset) == ([0], 2)


def cut_behind(directory: Path, offset: int) -> None:
    """Leave of a log what is written when this is its last record."""
    [path] = directory.glob("*.log")
    content = path.read_bytes()
    sizes = [
        position + header.size
        for position, header in scan(content)
        if header.last_offset <= offset
    ]
    path.write_bytes(content[: sizes[-1]])
    for snapshot in directory.glob("*.snapshot"):
        snapshot.unlink()


async def test_offsets_of_its_transactions_are_there(tmp_path: Path) -> None:
    """Of a transaction that was committed; not of the one that was aborted."""
    case = Case("transaction-state", tmp_path)
    adopt_directories(case.directory)
    async with serving(case.directory, now_ms=case.now_ms) as (server, _):
        for group, offsets in case.expected["group_offsets"].items():
            expected = {place: each["offset"] for place, each in offsets.items()}
            assert await loaded(server, partial(committed, group)) == expected


def committed(group_id: str, consumer: Consumer) -> dict[str, int]:
    request = OffsetFetchRequest(group_id=group_id, topics=None)
    answer = consumer.connection.request(request, OffsetFetchResponse, 5)
    raise_for(answer.error_code)
    return {
        f"{topic.name}-{each.partition_index}": each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
    }
