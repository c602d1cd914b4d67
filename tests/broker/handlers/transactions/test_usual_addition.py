"""AddPartitionsToTxn on the short way and the long one: the same answers and logs."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.broker.handlers.topics.topic_deletion import delete_topics
from odradek.broker.handlers.transactions.usual_addition import UsualAddition
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.short_ways import ShortWays
from odradek.protocol.acls import ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
)
from odradek.protocol.schema import Request
from tests.fakes.recorded import recorded
from tests.fakes.replicas import replicas
from tests.fakes.transactions import TransactionClient
from tests.fakes.two_ways import Way, two_ways

LAST_OF_PRODUCERS = 3
VERSIONS = pytest.mark.parametrize("version", range(LAST_OF_PRODUCERS + 1))
Ways = tuple[Way, Way]
T = ("t", (0,))


@asynccontextmanager
async def ways_of(folder: Path, **options: Any) -> AsyncIterator[Ways]:
    """Two brokers with ``t`` of two partitions, and a producer with the epoch 0."""
    options |= {"transaction_state_log_num_partitions": 1}
    async with two_ways(folder, **options) as ways:
        with pytest.MonkeyPatch.context() as patch:
            target = "odradek.broker.metadata.topics.random_uuid"
            patch.setattr(target, lambda: bytes(15) + b"\1")
            for way in ways:
                await way.broker.services.transactions.create_topic()
        await begin(ways)
        yield ways
        for way in ways:
            await way.broker.services.transactions.close()
            assert not way.broker.bugs, way.broker.bugs


async def begin(ways: Ways) -> None:
    """A new instance of the producer; what the last one has open is aborted first."""
    answers = []
    for way in ways:
        client = TransactionClient(way.broker)
        answer = await client.told(client.init(transactional_id="id"))
        await client.settle()
        if answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
            answer = await client.told(client.init(transactional_id="id"))
        answers.append(answer)
    assert answers[0] == answers[1]


def addition(
    *topics: tuple[str, tuple[int, ...]],
    epoch: int = 0,
    transactional_id: str = "id",
    producer_id: int = 0,
) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=list(partitions))
            for name, partitions in topics
        ],
    )


def ending(epoch: int = 0, *, commits: bool = True) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id="id", producer_id=0, producer_epoch=epoch, committed=commits
    )


async def ask_both(ways: Ways, asked: Request, version: int) -> bytes | str:
    frame = encode_request(asked, version, 77, "client")[4:]
    answers = [await way.ask(frame) for way in ways]
    assert answers[0] == answers[1]
    for way in ways:
        for _ in range(3):  # markers, and what follows them
            await way.broker.commit()
            await asyncio.sleep(0)
    assert written(ways[0]) == written(ways[1])
    return answers[0]


def short_count(ways: Ways) -> int:
    return ways[0].shorts[ApiKey.ADD_PARTITIONS_TO_TXN]


def written(way: Way) -> bytes:
    return way.log(0, TRANSACTION_STATE)


def codes_of(answer: bytes | str, version: int) -> list[int]:
    assert isinstance(answer, bytes)
    _, response = decode_response(answer[4:], AddPartitionsToTxnResponse, version)
    return [
        each.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    ]


@pytest.mark.parametrize("durability", ["none", "commit"])
@VERSIONS
async def test_transactions_begin_by_the_short_way(
    tmp_path: Path, version: int, durability: str
) -> None:
    async with ways_of(tmp_path, durability=durability) as ways:
        counts = []
        for _ in range(4):
            answer = await ask_both(ways, addition(("t", (0, 1))), version)
            assert codes_of(answer, version) == [0, 0]
            counts.append(short_count(ways))
            await ask_both(ways, ending(), 1)
        # The first one of a version finds the route, the second one is learnt.
        assert counts == [0, 0, 1, 2]


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.integers(0, LAST_OF_PRODUCERS),
            st.sampled_from([(T,), (T,), (("t", (1, 0)),), (T, ("no", (0,))), ()]),
            st.sampled_from([0, 0, 0, 1]),
            st.sampled_from(["id", "id", "id", "other"]),
        )
        | st.booleans()
        | st.none(),
        min_size=4,
        max_size=12,
    ),
    st.sampled_from(["none", "commit"]),
)
def test_both_ways_lead_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], durability: str
) -> None:
    async def compare() -> None:
        folder = tmp_path_factory.mktemp("ways")
        async with ways_of(folder, durability=durability) as ways:
            for step in steps:
                if step is None:
                    await begin(ways)  # another instance: the epoch is another one
                elif isinstance(step, bool):
                    await ask_both(ways, ending(commits=step), 1)
                else:
                    version, topics, epoch, name = step
                    asked = addition(*topics, epoch=epoch, transactional_id=name)
                    await ask_both(ways, asked, version)

    asyncio.run(compare())


async def test_a_topic_that_was_deleted_is_known_no_more(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        for _ in range(3):
            await ask_both(ways, addition(T), 3)
            await ask_both(ways, ending(), 1)
        assert short_count(ways) == 1
        for way in ways:
            topic = way.broker.topics.get("t")
            assert topic is not None
            await delete_topics(way.broker.services, [topic.topic_id])
        assert codes_of(await ask_both(ways, addition(T), 3), 3) == [3]
        assert short_count(ways) == 1


async def test_a_mirror_takes_no_part(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        for _ in range(3):
            await ask_both(ways, addition(T), 3)
            await ask_both(ways, ending(), 1)
        for way in ways:
            topic = way.broker.topics.get("t")
            assert topic is not None
            way.broker.topics.mirrored[topic.topic_id] = "of another cluster"
        for _ in range(2):
            assert codes_of(await ask_both(ways, addition(T), 3), 3) == [44]
        assert short_count(ways) == 1


async def test_the_mirror_of_another_topic_is_nothing_to_it(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        for way in ways:
            way.broker.topics.mirrored[b"1" * 16] = "of another cluster"
        for _ in range(3):
            assert codes_of(await ask_both(ways, addition(T), 3), 3) == [0]
            await ask_both(ways, ending(), 1)
        assert short_count(ways) == 1


async def test_who_may_not_write_is_not_learnt(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        services = ways[0].broker.services
        for denied in ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID:
            access = cast("Any", Without(denied))
            short = UsualAddition(services, 3, ShortWays("alice", access=access))
            frame = memoryview(encode_request(addition(T), 3, 77, "client")[4:])
            for _ in range(2):
                assert short(ways[0].connections[0], frame) is None


async def test_what_brokers_ask_takes_no_short_way(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        short = UsualAddition(ways[0].broker.services, 4, ShortWays("alice"))
        frame = memoryview(encode_request(addition(T), 3, 77, "client")[4:])
        for _ in range(2):
            assert short(ways[0].connections[0], frame) is None


async def test_what_clients_add_is_usual(tmp_path: Path) -> None:
    known = Counter[str]()
    async with replicas(tmp_path) as broker:
        services, connection = broker.services, ConnectionInfo()
        await services.transactions.create_topic()
        for client, version, frame in recorded(ApiKey.ADD_PARTITIONS_TO_TXN):
            _, position = decode_request_header(frame)
            asked, _ = decoder(AddPartitionsToTxnRequest, version)(frame, position)
            for topic in asked.v3_and_below_topics:
                if services.metadata.get(topic.name) is None:
                    await broker.create_topic(topic.name, 3)
            short = UsualAddition(services, version, ShortWays(""))
            assert short(connection, frame) is None, "it is learnt"
            known[client] += short(connection, frame) is not None
    assert known == {"aiokafka": 2, "kafka-python": 1, "librdkafka": 2}, (
        "the others speak the second protocol"
    )


class Without:
    """Access of somebody who may do all but write one kind of things."""

    def __init__(self, denied: int) -> None:
        self._denied = denied

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        return resource_type != self._denied
