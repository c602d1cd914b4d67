"""EndTxn on the short way and the long one: the same answers and logs."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.broker.handlers.transactions.usual_ending import UsualEnding
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.short_ways import ShortWays
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.transactions import EndTxnRequest, EndTxnResponse
from tests.fakes.recorded import recorded
from tests.fakes.replicas import replicas

from .test_usual_addition import T, Ways, Without, addition, ask_both, begin, ways_of

LAST = 5
BUMPS = 5  # the first version that raises the epoch
VERSIONS = pytest.mark.parametrize("version", [0, 2, 3, LAST])


def ending(
    epoch: int = 0,
    *,
    commits: bool = True,
    transactional_id: str = "id",
    producer_id: int = 0,
) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        committed=commits,
    )


def told(answer: bytes | str, version: int) -> tuple[int, int]:
    """The error code, and the epoch that is said to be the next one."""
    assert isinstance(answer, bytes)
    _, response = decode_response(answer[4:], EndTxnResponse, version)
    return response.error_code, response.producer_epoch


def short_count(ways: Ways) -> int:
    return ways[0].shorts[ApiKey.END_TXN]


@pytest.mark.parametrize("durability", ["none", "commit"])
@VERSIONS
async def test_transactions_end_by_the_short_way(
    tmp_path: Path, version: int, durability: str
) -> None:
    async with ways_of(tmp_path, durability=durability) as ways:
        counts = []
        for number in range(4):
            epoch = number if version >= BUMPS else 0
            await ask_both(ways, addition(T, epoch=epoch), 3)
            answer = await ask_both(ways, ending(epoch), version)
            next_epoch = epoch + 1 if version >= BUMPS else -1
            assert told(answer, version) == (0, next_epoch)
            counts.append(short_count(ways))
        # The first one of a version finds the route, the second one is learnt.
        assert counts == [0, 0, 1, 2]
        assert ways[1].shorts[ApiKey.END_TXN] == 0


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 2, 4, 5, 5]),
            st.sampled_from([0, 0, 0, 1, 2, -1]),
            st.sampled_from([True, True, False]),
            st.sampled_from([("id", 0)] * 4 + [("id", 1), ("other", 0)]),
        )
        | st.sampled_from([0, 0, 1, 2])
        | st.none(),
        min_size=6,
        max_size=16,
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
                elif isinstance(step, int):
                    await ask_both(ways, addition(T, epoch=step), 3)
                else:
                    version, epoch, commits, (name, producer_id) = step
                    asked = ending(
                        epoch,
                        commits=commits,
                        transactional_id=name,
                        producer_id=producer_id,
                    )
                    await ask_both(ways, asked, version)

    asyncio.run(compare())


@VERSIONS
async def test_what_is_wrong_is_said(tmp_path: Path, version: int) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        for _ in range(2):
            await ask_both(ways, ending(), version)
        code, _ = told(await ask_both(ways, ending(), version), version)
        assert code == 48, "there is nothing to commit"
        assert short_count(ways) == 1
        code, _ = told(await ask_both(ways, ending(7), version), version)
        assert code in (47, 90), "it is fenced"
        assert short_count(ways) == 2


@VERSIONS
async def test_nobody_is_told_before_it_is_durable(
    tmp_path: Path, version: int
) -> None:
    async with ways_of(tmp_path, durability="commit") as ways:
        way = ways[0]
        short = UsualEnding(way.broker.services, version, ShortWays(""))
        frame = memoryview(encode_request(ending(), version, 77, "client")[4:])
        assert short(way.connections[0], frame) is None, "it is learnt"
        await ask_both(ways, addition(T), 3)
        before = len(way.log(0, TRANSACTION_STATE))
        answer = short(way.connections[0], frame)
        assert len(way.log(0, TRANSACTION_STATE)) > before
        assert isinstance(answer, Parked)
        assert not answer.done()
        await way.broker.commit()
        assert type(answer.result()) is bytes


async def test_who_may_not_write_is_not_learnt(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        services = ways[0].broker.services
        access = cast("Any", Without(ResourceType.TRANSACTIONAL_ID))
        short = UsualEnding(services, 4, ShortWays("alice", access=access))
        frame = memoryview(encode_request(ending(), 4, 77, "client")[4:])
        for _ in range(2):
            assert short(ways[0].connections[0], frame) is None


async def test_what_is_not_written_as_usual_is_not_learnt(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        frame = bytearray(encode_request(ending(), 4, 77, "client")[4:])
        frame[-1:] = b"\1\5\1x"  # a field with a tag that nobody knows
        short = UsualEnding(ways[0].broker.services, 4, ShortWays("alice"))
        for _ in range(2):
            assert short(ways[0].connections[0], memoryview(frame)) is None
        for size in range(4, len(frame)):
            assert short(ways[0].connections[0], memoryview(frame)[:size]) is None


async def test_who_has_the_id_no_more_is_forgotten(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="none") as ways:
        short = UsualEnding(ways[0].broker.services, 4, ShortWays("alice"))
        known = short._known
        for producer_id in (0, 1):
            asked = ending(producer_id=producer_id)
            frame = memoryview(encode_request(asked, 4, 77, "client")[4:])
            assert short(ways[0].connections[0], frame) is None
        known._forget_the_gone()
        assert [each and each.producer_id for each in known.by_bytes.values()] == [0]


async def test_what_clients_send_is_usual(tmp_path: Path) -> None:
    known = Counter[str]()
    async with replicas(tmp_path) as broker:
        await broker.services.transactions.create_topic()
        for client, version, frame in recorded(ApiKey.END_TXN):
            short = UsualEnding(broker.services, version, ShortWays(""))
            connection = ConnectionInfo()
            assert short(connection, frame) is None, "it is learnt"
            known[client] += short(connection, frame) is not None
    assert known == {
        "aiokafka": 1,
        "franz-go": 1,
        "java-clients": 1,
        "kafka-python": 1,
        "librdkafka": 1,
    }, "Spark's commits nothing"
