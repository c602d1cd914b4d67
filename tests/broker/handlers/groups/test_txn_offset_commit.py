"""TxnOffsetCommit in all its versions, as Apache Kafka 4.3.1 answers it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.handlers.groups.offset_fetch import handle_offset_fetch
from odradek.broker.handlers.groups.txn_offset_commit import (
    handle_txn_offset_commit,
    refuse_txn_offset_commit,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.txn_offsets import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.transactions import ID, TransactionClient, transaction_client

GROUP = "g"
VERSIONS = range(6)
Producer = tuple[int, int]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[TransactionClient]:
    options = {"transaction_partition_verification_enable": True}
    async with transaction_client(tmp_path, **options) as made:
        yield made


def asked(
    producer: Producer, *places: tuple[str, int], offset: int = 7, **fields: Any
) -> TxnOffsetCommitRequest:
    note = fields.pop("note", "")
    fields = {"transactional_id": ID, "group_id": GROUP} | fields
    return TxnOffsetCommitRequest(
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[
            TxnOffsetCommitRequestTopic(
                name=name,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_metadata=note,
                    )
                ],
            )
            for name, partition in places or [("t", 0)]
        ],
        **fields,
    )


def begin(
    client: TransactionClient, request: TxnOffsetCommitRequest, version: int
) -> Any:
    return handle_txn_offset_commit(client.broker.context(version), request)


async def codes_of(client: TransactionClient, answer: Any, version: int) -> list[int]:
    data = memoryview((await client.told(answer)).encode(version))
    response, _ = decoder(TxnOffsetCommitResponse, version)(data, 0)
    return [each.error_code for topic in response.topics for each in topic.partitions]


async def codes(
    client: TransactionClient, request: TxnOffsetCommitRequest, version: int
) -> list[int]:
    return await codes_of(client, begin(client, request, version), version)


async def told(
    client: TransactionClient, version: int, producer: Producer, **fields: Any
) -> int:
    """The code of one partition."""
    (code,) = await codes(client, asked(producer, **fields), version)
    return code


async def fetched(
    client: TransactionClient, version: int, *, require_stable: bool = True
) -> list[tuple[int, int]]:
    """Error code and offset of one partition, as OffsetFetch answers."""
    topic = client.broker.topics.get("t")
    assert topic is not None
    request = OffsetFetchRequest(
        group_id=GROUP,
        topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])],
        groups=[
            OffsetFetchRequestGroup(
                group_id=GROUP,
                topics=[
                    OffsetFetchRequestTopics(
                        name="t", topic_id=topic.topic_id, partition_indexes=[0]
                    )
                ],
            )
        ],
        require_stable=require_stable,
    )
    answer = handle_offset_fetch(client.broker.context(version), request)
    response = await client.told(answer)
    groups = [response] if version < 8 else response.groups
    return [
        (each.error_code, each.committed_offset)
        for group in groups
        for found in group.topics
        for each in found.partitions
    ]


async def taking_part(client: TransactionClient) -> Producer:
    """A producer whose transaction the group's offsets take part in."""
    producer = await client.producer()
    answer = await client.told(client.add_offsets(producer, GROUP))
    assert answer.error_code == ErrorCode.NONE
    return producer


def offset_partition(client: TransactionClient) -> TopicPartition:
    return client.broker.services.groups.partition_of(GROUP)


def offsets_end(client: TransactionClient) -> int:
    return client.broker.manager.partition(offset_partition(client)).view.log_end_offset


def committed(
    client: TransactionClient, partition: int = 0, name: str = "t"
) -> int | None:
    """The committed offset, None while a transaction would move it."""
    runtime = client.broker.services.groups.runtime
    offsets = runtime.shard(runtime.partition_of(GROUP)).state.offsets
    if offsets.is_pending(GROUP, name, partition):
        return None
    found = offsets.get(GROUP, name, partition)
    return -1 if found is None else found.offset


class TestWhatIsCommitted:
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("commit", [True, False])
    async def test_it_is_pending_until_the_transaction_ends(
        self, client: TransactionClient, version: int, commit: bool
    ) -> None:
        producer = await taking_part(client)
        request = asked(producer, ("t", 0), ("t", 1))
        assert await codes(client, request, version) == [0, 0]
        assert (committed(client, 0), committed(client, 1)) == (None, None)
        await client.told(client.end(producer, commit=commit))
        await client.settle()
        expected = 7 if commit else -1
        assert (committed(client, 0), committed(client, 1)) == (expected, expected)

    @pytest.mark.parametrize("version", range(7, 11))
    async def test_a_consumer_that_wants_stable_offsets_waits_for_the_end(
        self, client: TransactionClient, version: int
    ) -> None:
        producer = await taking_part(client)
        assert await told(client, 3, producer) == ErrorCode.NONE
        unstable = [(ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)]
        assert await fetched(client, version) == unstable
        assert await fetched(client, version, require_stable=False) == [(0, -1)]
        await client.told(client.end(producer))
        await client.settle()
        assert await fetched(client, version) == [(0, 7)]

    async def test_version_5_lets_the_group_take_part_by_itself(
        self, client: TransactionClient
    ) -> None:
        producer = await client.producer()
        assert await told(client, 5, producer) == ErrorCode.NONE
        transaction = client.transaction()
        assert transaction.state is TransactionState.ONGOING
        assert transaction.partitions == (offset_partition(client),)
        ended = await client.told(client.end(producer, version=5))
        assert ended.producer_epoch == producer[1] + 1
        await client.settle()
        assert committed(client) == 7

    async def test_each_transaction_of_version_5_has_an_epoch_of_its_own(
        self, client: TransactionClient
    ) -> None:
        producer_id, epoch = await client.producer()
        for offset in (7, 8, 9):
            producer = producer_id, epoch
            assert await told(client, 5, producer, offset=offset) == 0
            ended = await client.told(client.end(producer, version=5))
            epoch = ended.producer_epoch
        assert await told(client, 5, producer) == ErrorCode.INVALID_PRODUCER_EPOCH
        await client.settle()
        assert committed(client) == 9

    async def test_t102_a_transaction_commits_again_and_again(
        self, client: TransactionClient
    ) -> None:
        """Every batch of a coordinator has sequence 0; none is a duplicate."""
        producer = await taking_part(client)
        for offset in (7, 8, 7):
            assert await told(client, 3, producer, offset=offset) == ErrorCode.NONE
        data = client.log(offset_partition(client)).read(0, 10_000).records
        headers = [header for _, header in scan(memoryview(data))]
        assert [header.base_sequence for header in headers] == [0, 0, 0]
        assert all(header.is_transactional for header in headers)
        await client.told(client.end(producer))
        await client.settle()
        assert committed(client) == 7

    async def test_several_that_are_under_way_at_once_keep_their_order(
        self, client: TransactionClient
    ) -> None:
        producer = await client.producer()
        answers = [
            begin(client, asked(producer, offset=offset), 5) for offset in (7, 8, 9)
        ]
        for answer in answers:
            assert await codes_of(client, answer, 5) == [ErrorCode.NONE]
        await client.told(client.end(producer, version=5))
        await client.settle()
        assert committed(client) == 9

    async def test_nothing_is_written_before_its_partition_takes_part_for_good(
        self, client: TransactionClient
    ) -> None:
        producer = await client.producer()
        answer = begin(client, asked(producer), 5)
        assert isinstance(answer, Parked)
        client.broker.sync()
        assert offsets_end(client) == 0  # not inside of what the sync changes
        assert await codes_of(client, answer, 5) == [ErrorCode.NONE]
        assert offsets_end(client) == 1

    async def test_who_is_back_too_early_waits_for_the_markers(
        self, client: TransactionClient
    ) -> None:
        producer = await taking_part(client)
        assert await told(client, 3, producer) == ErrorCode.NONE
        await client.told(client.end(producer))
        assert client.transaction().state is TransactionState.PREPARE_COMMIT
        assert await told(client, 5, producer, offset=8) == ErrorCode.NONE
        await client.told(client.end(producer, version=5))
        await client.settle()
        assert committed(client) == 8


# What Apache Kafka answers, by version, to a producer whose transaction lacks the
# group's offsets; then to one with another id, with an older and with a later epoch.
NOT_ADDED = [48, 48, 48, 48, 120, 0]


class TestRefusals:
    @pytest.mark.parametrize("version", VERSIONS)
    async def test_a_group_that_takes_no_part(
        self, client: TransactionClient, version: int
    ) -> None:
        producer = await client.producer()
        assert await told(client, version, producer) == NOT_ADDED[version]
        is_stored = NOT_ADDED[version] == 0
        assert offsets_end(client) == is_stored
        assert committed(client) == (None if is_stored else -1)

    @pytest.mark.parametrize("version", VERSIONS)
    async def test_other_producers(
        self, client: TransactionClient, version: int
    ) -> None:
        producer_id, epoch = await taking_part(client)
        other = producer_id + 77, epoch
        assert await told(client, version, other) == 49
        assert await told(client, version, (producer_id, epoch - 1)) == 47
        assert await told(client, version, (producer_id, epoch + 1)) == 47
        unknown = {"transactional_id": "unknown"}
        assert await told(client, version, (producer_id, epoch), **unknown) == 49
        assert offsets_end(client) == 0

    @pytest.mark.parametrize("version", VERSIONS)
    async def test_nameless(self, client: TransactionClient, version: int) -> None:
        producer = await taking_part(client)
        assert await told(client, version, producer, group_id="") == 24
        assert await told(client, version, producer, transactional_id="") == 42

    @pytest.mark.parametrize("version", VERSIONS)
    async def test_unknown_partitions_are_refused_alone(
        self, client: TransactionClient, version: int
    ) -> None:
        producer = await taking_part(client)
        places = [("none", 0), ("t", 0), ("t", 2), ("t", -1), ("t", 1)]
        assert await codes(client, asked(producer, *places), version) == [3, 0, 3, 3, 0]

    async def test_without_a_known_partition_nobody_is_asked(
        self, client: TransactionClient
    ) -> None:
        producer = await client.producer()
        assert await codes(client, asked((1, 1), ("none", 0)), 5) == [3]
        empty = asked(producer)
        empty.topics = []
        assert await codes(client, empty, 5) == []
        assert client.transaction().state is TransactionState.EMPTY

    @pytest.mark.parametrize("version", VERSIONS)
    async def test_a_long_note(self, client: TransactionClient, version: int) -> None:
        producer = await taking_part(client)
        assert await told(client, version, producer, note="x" * 4097) == 12
        assert await told(client, version, producer, note=None) == 0

    @pytest.mark.parametrize("version", [3, 4, 5])
    async def test_a_generation_of_an_unknown_group(
        self, client: TransactionClient, version: int
    ) -> None:
        """The transaction is asked about first, and in version 5 it has begun."""
        producer = await client.producer()
        refused = NOT_ADDED[version] or ErrorCode.ILLEGAL_GENERATION
        assert await told(client, version, producer, generation_id=5) == refused
        is_begun = client.transaction().state is TransactionState.ONGOING
        assert is_begun == (version == 5)
        assert offsets_end(client) == 0

    async def test_a_transaction_that_ends_while_it_is_asked_about(
        self, client: TransactionClient
    ) -> None:
        """Its marker is in the log before the answer: the word is out of date."""
        producer = await taking_part(client)
        assert await told(client, 3, producer, group_id="warm") == 0
        await client.told(client.end(producer))
        await client.settle()
        await client.told(client.add_offsets(producer, GROUP))
        await client.told(client.add_offsets(producer, "warm"))
        client.add(producer, TopicPartition("t", 0))  # the word waits for its sync
        answer = begin(client, asked(producer), 3)
        assert isinstance(answer, Parked)
        marked = client.broker.services.groups.end_transaction(
            offset_partition(client), ProducerIdentity(*producer), False, 0, 0
        )
        assert isinstance(marked, Parked)
        assert await codes_of(client, answer, 3) == [ErrorCode.INVALID_TXN_STATE]
        assert committed(client) == -1

    @pytest.mark.parametrize(("version", "refusal"), [(0, 15), (1, 15), (2, 14)])
    async def test_what_is_being_loaded(
        self, tmp_path: Path, version: int, refusal: int
    ) -> None:
        files = FakeFiles()
        async with transaction_client(tmp_path, files) as client:
            producer = await taking_part(client)
            assert await told(client, 3, producer) == ErrorCode.NONE
        async with transaction_client(tmp_path, files) as client:
            client.broker.services.groups.runtime.unload()
            assert await told(client, version, producer) == refusal
            await client.broker.services.groups.runtime.loaded()
            assert await told(client, version, producer) == ErrorCode.NONE

    async def test_without_a_coordinator_of_transactions(
        self, client: TransactionClient
    ) -> None:
        topic = client.broker.topics.get("__transaction_state")
        assert topic is not None
        await client.broker.topics.begin_deletions({topic.topic_id: 0})
        refused = await told(client, 4, (1, 0))
        assert refused == ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("version", VERSIONS)
async def test_without_verification_old_producers_are_believed(
    tmp_path: Path, version: int
) -> None:
    async with transaction_client(
        tmp_path, transaction_partition_verification_enable=False
    ) as client:
        producer = await client.producer()
        assert await told(client, version, producer) == ErrorCode.NONE
        is_begun = client.transaction().state is TransactionState.ONGOING
        assert is_begun == (version == 5)


def test_a_refusal_of_the_whole_names_every_partition() -> None:
    request = asked((1, 0), ("t", 0), ("u", 3))
    refused = refuse_txn_offset_commit(request, KafkaStorageError())
    assert [
        (topic.name, each.partition_index, each.error_code)
        for topic in refused.topics
        for each in topic.partitions
    ] == [("t", 0, 56), ("u", 3, 56)]
