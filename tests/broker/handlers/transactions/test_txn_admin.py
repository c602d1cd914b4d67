from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.phase import Phase
from odradek.broker.handlers.transactions.txn_admin import (
    handle_describe_transactions,
    handle_list_transactions,
    refuse_describe_transactions,
)
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidRegularExpression,
)
from odradek.protocol.messages.txn_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS, replicas
from tests.fakes.transactions import (
    ID,
    T0,
    T1,
    TIMEOUT_MS,
    TransactionClient,
    transaction_client,
)

UNKNOWN = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


async def described(client: TransactionClient, *names: str) -> list[Any]:
    request = DescribeTransactionsRequest(transactional_ids=list(names))
    answer = handle_describe_transactions(client.broker.context(0), request)
    data = memoryview((await client.told(answer)).encode(0))
    response, _ = decoder(DescribeTransactionsResponse, 0)(data, 0)
    return list(response.transaction_states)


async def listing(
    client: TransactionClient, version: int = 2, **wanted: Any
) -> ListTransactionsResponse:
    request = ListTransactionsRequest(**wanted)
    answer = handle_list_transactions(client.broker.context(version), request)
    data = memoryview((await client.told(answer)).encode(version))
    return decoder(ListTransactionsResponse, version)(data, 0)[0]


async def listed(client: TransactionClient, **wanted: Any) -> list[str]:
    answer = await listing(client, **wanted)
    assert answer.error_code == 0
    return sorted(each.transactional_id for each in answer.transaction_states)


async def test_each_transactional_id_is_described(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        idle = await client.producer(transactional_id="idle")
        producer = await client.ongoing(T1, T0)
        ongoing, missing, empty, again = await described(client, ID, "x", "idle", ID)
        assert ongoing == again
        assert (ongoing.error_code, ongoing.transactional_id) == (0, ID)
        assert ongoing.transaction_state == "Ongoing"
        assert (ongoing.producer_id, ongoing.producer_epoch) == producer
        assert ongoing.transaction_timeout_ms == TIMEOUT_MS
        assert ongoing.transaction_start_time_ms == NOW_MS
        (topic,) = ongoing.topics
        assert (topic.topic, sorted(topic.partitions)) == ("t", [0, 1])
        assert (missing.error_code, missing.transactional_id) == (UNKNOWN, "x")
        assert (missing.transaction_state, missing.topics) == ("", [])
        assert (empty.transaction_state, empty.topics) == ("Empty", [])
        assert (empty.producer_id, empty.producer_epoch) == idle
        assert empty.transaction_start_time_ms == -1


async def test_a_transaction_that_is_over(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        await client.told(client.end(producer, commit=False))
        (prepared,) = await described(client, ID)
        assert prepared.transaction_state == "PrepareAbort"
        await client.settle()
        (over,) = await described(client, ID)
        assert (over.transaction_state, over.topics) == ("CompleteAbort", [])


async def test_transactions_of_all_shards_are_listed(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        names = [f"id-{number}" for number in range(5)]
        for name in names:
            await client.producer(transactional_id=name)
        assert len(list(client.service.runtime.shards())) == 2
        assert await listed(client) == [*names, ID]
        assert await listed(client, state_filters=["Ongoing"]) == [ID]
        assert await listed(client, producer_id_filters=[producer[0], 7]) == [ID]
        assert await listed(client, duration_filter=0, state_filters=["Ongoing"]) == []
        client.broker.clock.advance(1)
        assert await listed(client, duration_filter=0, state_filters=["Ongoing"]) == [
            ID
        ]
        ids = [each.producer_id for each in (await listing(client)).transaction_states]
        assert len(set(ids)) == 6


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_names_of_states_that_are_none_are_said_again(
    tmp_path: Path, version: int
) -> None:
    async with transaction_client(tmp_path) as client:
        await client.ongoing()
        both = ["Nope", "Ongoing", "ongoing"]
        answer = await listing(client, version, state_filters=both)
        assert answer.unknown_state_filters == ["Nope", "ongoing"]
        (found,) = answer.transaction_states
        assert (found.transactional_id, found.transaction_state) == (ID, "Ongoing")
        answer = await listing(client, version, state_filters=["Nope"])
        assert (answer.error_code, answer.unknown_state_filters) == (0, ["Nope"])
        assert answer.transaction_states == []


async def test_a_pattern_matches_whole_names(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        for name in ("a-1", "a-2", "b-1"):
            await client.producer(transactional_id=name)
        assert await listed(client, transactional_id_pattern="a-.*") == ["a-1", "a-2"]
        assert await listed(client, transactional_id_pattern="a") == []
        assert len(await listed(client, transactional_id_pattern="")) == 3
        with pytest.raises(InvalidRegularExpression):
            await listing(client, transactional_id_pattern="(a")


async def test_while_a_part_is_loaded_nothing_is_listed(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        await client.ongoing()
        shard = next(client.service.runtime.shards())
        for phase, code in (
            (Phase.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
            (Phase.FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ):
            shard.phase = phase
            answer = await listing(client)
            assert (answer.error_code, answer.transaction_states) == (code, [])
        shard.phase = Phase.ACTIVE


async def test_before_anything_is_loaded_nothing_is_listed(tmp_path: Path) -> None:
    """Clients may be faster than the loading, which begins after the start."""
    files = FakeFiles()
    async with transaction_client(tmp_path, files) as client:
        await client.producer()
    async with replicas(tmp_path, files) as broker:
        client = TransactionClient(broker)
        answer = await listing(client)
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        client.service.load_all()
        await client.service.runtime.loaded()
        assert await listed(client) == [ID]


async def test_nobody_has_ever_begun(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        assert await listed(client) == []


def test_what_fails_as_a_whole_fails_for_each() -> None:
    request = DescribeTransactionsRequest(transactional_ids=["a", "b"])
    answer = refuse_describe_transactions(request, CoordinatorNotAvailable())
    assert [
        (each.transactional_id, each.error_code) for each in answer.transaction_states
    ] == [("a", 15), ("b", 15)]
    assert answer.encode(0)
