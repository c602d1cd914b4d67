"""Hanging transactions are aborted by hand; nothing else is."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.phase import Phase
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.handlers.transactions.write_txn_markers import (
    handle_write_txn_markers,
    refuse_write_txn_markers,
)
from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.runtime.parked import Parked
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.txn_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.cluster import led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import batch_of, replicas
from tests.fakes.transactions import ID, T0, T1, TransactionClient, transaction_client

IN_CLUSTER: Any = "a cluster"  # nobody looks at what it is
HANGING = (5000, 3)
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def marker(
    producer: tuple[int, int],
    *partitions: TopicPartition,
    commit: bool = False,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=producer[0],
        producer_epoch=producer[1],
        transaction_result=commit,
        topics=[
            WritableTxnMarkerTopic(name=name, partition_indexes=[number])
            for name, number in partitions
        ],
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
    )


def ask(client: TransactionClient, *markers: WritableTxnMarker) -> Any:
    request = WriteTxnMarkersRequest(markers=list(markers))
    return handle_write_txn_markers(client.broker.context(2), request)


async def codes(client: TransactionClient, *markers: WritableTxnMarker) -> list[int]:
    answer = await client.told(ask(client, *markers))
    data = memoryview(answer.encode(2))
    response, _ = decoder(WriteTxnMarkersResponse, 2)(data, 0)
    return [
        each.error_code
        for found in response.markers
        for topic in found.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", [1, 2])
async def test_what_hangs_is_aborted(tmp_path: Path, version: int) -> None:
    async with transaction_client(tmp_path) as client:
        await client.write(HANGING, T0)
        await client.write(HANGING, T1)
        assert client.stable() == 0
        request = WriteTxnMarkersRequest(markers=[marker(HANGING, T0)])
        answer = handle_write_txn_markers(client.broker.context(version), request)
        assert isinstance(answer, Parked)
        assert not answer.done(), "the marker is not durable yet"
        response = await client.told(answer)
        assert response.encode(version)
        (result,) = response.markers
        assert result.producer_id == HANGING[0]
        assert (client.stable(T0), client.stable(T1)) == (2, 0)
        (aborted,) = client.log().local.active.transactions.entries()
        assert (aborted.producer_id, aborted.first_offset) == (HANGING[0], 0)


async def test_each_marker_and_partition_is_answered(tmp_path: Path) -> None:
    unknown, other = TopicPartition("u", 0), (6000, 0)
    async with transaction_client(tmp_path) as client:
        await client.write(HANGING, T0)
        await client.write(other, T1)
        asked = [marker(HANGING, unknown, T0, T1), marker(other, T1)]
        assert await codes(client, *asked) == [3, 0, ErrorCode.INVALID_TXN_STATE, 0]
        assert (client.stable(T0), client.stable(T1)) == (2, 2)
        assert await codes(client) == []


async def test_what_a_coordinator_owns_is_left_to_it(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        assert await codes(client, marker(producer, T0)) == [REFUSED]
        client.end(producer)  # decided, and not carried out yet
        assert await codes(client, marker(producer, T0)) == [REFUSED]
        await client.settle()
        assert client.stable() == 2
        answered = await codes(client, marker(producer, T0))
        assert answered == [ErrorCode.INVALID_TXN_STATE]
        assert client.log().log_end_offset == 2


async def test_nobody_but_a_coordinator_commits(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        await client.write(HANGING)
        assert await codes(client, marker(HANGING, T0, commit=True)) == [REFUSED]
        assert client.stable() == 0


async def test_a_commit_whose_marker_is_lost_is_not_aborted(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        addition = Addition(ID, ProducerIdentity(*producer), (T0,), 2)
        await client.told(client.service.admit(addition))
        await client.told(client.end(producer, version=5))
        await client.settle()
        await client.write(producer, T1)  # as if T1 had lost its end
        assert await codes(client, marker(producer, T1)) == [REFUSED]


@pytest.mark.parametrize(
    ("producer", "more", "code"),
    [
        ((HANGING[0], 2), {}, ErrorCode.INVALID_PRODUCER_EPOCH),
        ((HANGING[0], 4), {}, ErrorCode.INVALID_PRODUCER_EPOCH),
        (HANGING, {"transaction_version": 2}, ErrorCode.INVALID_PRODUCER_EPOCH),
        (
            HANGING,
            {"coordinator_epoch": 7},
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ),
        ((5001, 3), {}, ErrorCode.INVALID_TXN_STATE),
    ],
)
async def test_an_abort_names_what_is_open(
    tmp_path: Path, producer: tuple[int, int], more: dict[str, Any], code: int
) -> None:
    async with transaction_client(tmp_path) as client:
        await client.write(HANGING)
        assert await codes(client, marker(producer, T0, **more)) == [code]
        assert client.log().log_end_offset == 1


async def test_who_owns_it_must_be_known(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        await client.ongoing()
        await client.write(HANGING)
        shard = next(client.service.runtime.shards())
        shard.phase = Phase.LOADING
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert await codes(client, marker(HANGING, T0)) == [loading]
        shard.phase = Phase.ACTIVE
        assert await codes(client, marker(HANGING, T0)) == [0]


async def test_only_the_leader_writes(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        partition = client.broker.manager.partition(T0)
        partition.make_follower(led_by(2, 2, replicas=(1, 2)))
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await codes(client, marker(HANGING, T0)) == [code]


async def test_offsets_that_hang_are_dropped(tmp_path: Path) -> None:
    offsets = TopicPartition(CONSUMER_OFFSETS, 0)
    async with transaction_client(tmp_path) as client:
        client.broker.services.groups.runtime.shard(0)  # loaded: there is nothing yet
        batch = batch_of(
            b"v",
            producer_id=HANGING[0],
            producer_epoch=HANGING[1],
            base_sequence=0,
            is_transactional=True,
        )
        client.broker.manager.append_records(
            {offsets: batch}, acks=1, timeout_ms=1000, terms=OF_A_COORDINATOR
        )
        await client.broker.commit()
        assert client.stable(offsets) == 0
        assert await codes(client, marker(HANGING, offsets)) == [0]
        assert client.stable(offsets) == 2


async def test_a_log_that_was_not_used_yet_is_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    async with transaction_client(tmp_path, files) as client:
        await client.write(HANGING)
    async with replicas(tmp_path, files) as broker:
        client = TransactionClient(broker)
        assert broker.manager.unopened([T0])
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert await codes(client, marker(HANGING, T0)) == [loading]
        assert not broker.manager.unopened([T0])
        client.service.load_all()
        assert await codes(client, marker(HANGING, T0)) == [0]
        assert client.stable() == 2


async def test_an_option_allows_everything(tmp_path: Path) -> None:
    async with transaction_client(tmp_path, inter_broker_apis_enable=True) as client:
        producer = await client.ongoing()
        assert await codes(client, marker(producer, T0, commit=True)) == [0]
        assert client.stable() == 2
        assert not client.log().local.active.transactions.entries()


async def test_in_a_cluster_coordinators_decide_wherever_they_are(
    tmp_path: Path,
) -> None:
    async with transaction_client(tmp_path) as client:
        client.broker.services.cluster = IN_CLUSTER
        producer = await client.ongoing()
        assert await codes(client, marker(producer, T0, commit=True)) == [0]
        assert client.stable() == 2


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ],
)
async def test_a_coordinator_of_groups_that_is_not_there_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Coordinators of transactions know no such codes for partitions."""
    async with transaction_client(tmp_path) as client:
        client.broker.services.cluster = IN_CLUSTER
        groups = client.broker.services.groups
        monkeypatch.setattr(groups, "end_transaction", lambda *_: code)
        place = groups.partition_of("g")
        answered = await codes(client, marker((9, 1), place, commit=True))
        assert answered == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_alone_it_says_what_the_coordinator_of_groups_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with transaction_client(tmp_path, inter_broker_apis_enable=True) as client:
        code, groups = ErrorCode.NOT_COORDINATOR, client.broker.services.groups
        monkeypatch.setattr(groups, "end_transaction", lambda *_: code)
        place = groups.partition_of("g")
        assert await codes(client, marker((9, 1), place)) == [code]


def test_what_fails_as_a_whole_fails_for_each_partition() -> None:
    request = WriteTxnMarkersRequest(markers=[marker(HANGING, T0, T1)])
    answer = refuse_write_txn_markers(request, KafkaStorageError())
    (result,) = answer.markers
    assert [
        (topic.name, each.partition_index, each.error_code)
        for topic in result.topics
        for each in topic.partitions
    ] == [("t", 0, 56), ("t", 1, 56)]
    assert answer.encode(1)
