from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.transaction.add_partitions import IMPLICIT_ADD
from odradek.broker.handlers.transactions.transactions import (
    handle_add_partitions_to_txn,
    refuse_add_partitions_to_txn,
)
from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaStorageError, UnsupportedVersion
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.transactions import ID, T0, T1, TransactionClient, transaction_client

IN_CLUSTER: Any = "a cluster"  # nobody looks at what it is
NOWHERE = TopicPartition("nope", 0)


def codes(topics: Any) -> list[int]:
    return [
        each.partition_error_code
        for topic in topics
        for each in topic.results_by_partition
    ]


async def added(client: TransactionClient, *asked: Any, version: int = 3) -> list[int]:
    response = await client.told(client.add(*asked, version=version))
    assert response.encode(version)
    return codes(response.results_by_topic_v3_and_below)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_partitions_take_part(tmp_path: Path, version: int) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        assert await added(client, producer, T0, version=version) == [0]
        assert await added(client, producer, T1, T0, version=version) == [0, 0]
        assert set(client.transaction().partitions) == {T0, T1}


async def test_with_an_unknown_one_nothing_is_added(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        missing = TopicPartition("t", 2)
        assert await added(client, producer, T0, NOWHERE, missing) == [
            ErrorCode.OPERATION_NOT_ATTEMPTED,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        assert client.transaction().partitions == ()


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_who_is_fenced_is_told_as_it_knows(
    tmp_path: Path, version: int, code: int
) -> None:
    async with transaction_client(tmp_path) as client:
        old = await client.producer()
        await client.producer()
        assert await added(client, old, T0, version=version) == [code]
        offsets = await client.told(client.add_offsets(old, version=version))
        assert offsets.error_code == code
        ended = await client.told(client.end(old, version=version))
        assert ended.error_code == code


async def test_who_is_somebody_else(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        stranger = (4711, 0)
        assert await added(client, stranger, T0) == [
            ErrorCode.INVALID_PRODUCER_ID_MAPPING
        ]
        ended = await client.told(client.end(stranger))
        assert ended.error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


async def test_the_form_of_brokers_needs_an_option(tmp_path: Path) -> None:
    request = AddPartitionsToTxnRequest(transactions=[])
    async with transaction_client(tmp_path) as client:
        context = client.broker.context(4)
        with pytest.raises(UnsupportedVersion) as caught:
            handle_add_partitions_to_txn(context, request)
        answer = refuse_add_partitions_to_txn(request, caught.value)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert answer.encode(4)


def batched(producer: tuple[int, int], *, verify_only: bool) -> Any:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=ID,
                producer_id=producer[0],
                producer_epoch=epoch,
                verify_only=verify_only,
                topics=[AddPartitionsToTxnTopic(name="t", partitions=[0, 1])],
            )
            for epoch in (producer[1], producer[1] + 1)
        ]
    )


@pytest.mark.parametrize(
    ("version", "missing", "is_in_cluster"),
    [
        (4, ErrorCode.INVALID_TXN_STATE, False),
        (5, ErrorCode.TRANSACTION_ABORTABLE, False),
        (5, ErrorCode.TRANSACTION_ABORTABLE, True),
    ],
)
async def test_brokers_add_and_verify(
    tmp_path: Path, version: int, missing: int, is_in_cluster: bool
) -> None:
    options = {"inter_broker_apis_enable": not is_in_cluster}
    async with transaction_client(tmp_path, **options) as client:
        if is_in_cluster:
            client.broker.services.cluster = IN_CLUSTER
        producer = await client.producer()
        assert await added(client, producer, T1) == [0]

        async def ask(*, verify_only: bool) -> list[list[int]]:
            answer = await client.told(
                handle_add_partitions_to_txn(
                    client.broker.context(version),
                    batched(producer, verify_only=verify_only),
                )
            )
            assert answer.encode(version)
            return [codes(each.topic_results) for each in answer.results_by_transaction]

        fenced = [ErrorCode.PRODUCER_FENCED] * 2
        assert await ask(verify_only=True) == [[missing, 0], fenced]
        assert await ask(verify_only=False) == [[0, 0], fenced]
        added_in = IMPLICIT_ADD if is_in_cluster else 0
        assert client.transaction().client_version == added_in
        assert await ask(verify_only=True) == [[0, 0], fenced]


@pytest.mark.parametrize("verify_only", [False, True])
async def test_no_broker_waits_for_the_end_of_a_transaction(
    tmp_path: Path, verify_only: bool
) -> None:
    """It asks about many in one request, and has one answer for all."""
    async with transaction_client(tmp_path) as client:
        client.broker.services.cluster = IN_CLUSTER
        producer = await client.ongoing()
        await client.told(client.end(producer))
        answer: Any = handle_add_partitions_to_txn(
            client.broker.context(5), batched(producer, verify_only=verify_only)
        )
        assert not isinstance(answer, Parked)
        first, _ = answer.results_by_transaction
        assert codes(first.topic_results) == [ErrorCode.CONCURRENT_TRANSACTIONS] * 2


async def test_a_request_that_fails_as_a_whole_fails_for_each(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        topics = [AddPartitionsToTxnTopic(name="t", partitions=[0, 1])]
        request = AddPartitionsToTxnRequest(v3_and_below_topics=topics)
        answer = refuse_add_partitions_to_txn(request, KafkaStorageError())
        assert codes(answer.results_by_topic_v3_and_below) == [56, 56]
        assert answer.encode(3)
        assert client.service.has_topic


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
async def test_the_offsets_of_a_group_take_part(tmp_path: Path, version: int) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        answer = await client.told(client.add_offsets(producer, "g", version))
        assert answer.error_code == 0
        assert answer.encode(version)
        (partition,) = client.transaction().partitions
        assert partition == client.broker.services.groups.partition_of("g")
        assert partition.topic == CONSUMER_OFFSETS


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
async def test_who_writes_next_is_told_where_it_changes(
    tmp_path: Path, version: int
) -> None:
    async with transaction_client(tmp_path) as client:
        producer_id, epoch = await client.ongoing()
        answer = await client.told(client.end((producer_id, epoch), version=version))
        assert answer.error_code == 0
        assert answer.encode(version)
        told = answer.producer_id, answer.producer_epoch
        assert told == ((producer_id, epoch + 1) if version == 5 else (-1, -1))


@pytest.mark.parametrize("version", [4, 5])
async def test_an_end_without_a_beginning(tmp_path: Path, version: int) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        answer = await client.told(client.end(producer, version=version))
        assert answer.error_code == ErrorCode.INVALID_TXN_STATE


async def test_two_ends_race(tmp_path: Path) -> None:
    """The second waits for the first, and is told what that has become."""
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        first, same = client.end(producer), client.end(producer)
        other = client.end(producer, commit=False)
        assert (await client.told(first)).error_code == 0
        assert (await client.told(same)).error_code == 0
        assert (await client.told(other)).error_code == ErrorCode.INVALID_TXN_STATE
