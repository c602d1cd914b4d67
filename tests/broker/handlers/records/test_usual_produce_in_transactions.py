"""Batches of transactions on the short way of Produce, where theirs is open already."""

import asyncio
import contextlib
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.handlers.records import usual_produce
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.short_ways import ShortWays
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import KafkaError
from odradek.protocol.headers import decode_request_header
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.producers.append_info import AppendOrigin
from tests.broker.handlers.records.test_usual_produce import (
    FIRST,
    LAST,
    VERSIONS,
    ask_both,
    frame_of,
    request,
)
from tests.broker.handlers.verification_rig import ScriptedCoordinator
from tests.fakes.recorded import recorded
from tests.fakes.replicas import batch_of, marker_of, replicas
from tests.fakes.two_ways import Way, two_ways

VERIFIED = {"transaction_partition_verification_enable": True}
T0 = TopicPartition("t", 0)
OPENING = 11  # a version that asks no coordinator, as nothing is verified here
OF_A_TRANSACTION = st.tuples(
    st.integers(FIRST, LAST),
    st.sampled_from([0, 0, 0, 1]),
    st.integers(0, 4),
    st.sampled_from([True, True, True, False]),
    st.sampled_from(["id", "id", "id", "x" * 126, "x" * 127, "", None]),
    st.sampled_from([b"v", b"v" * 20_000]),
)


def in_transaction(
    sequence: int,
    epoch: int = 0,
    transactional_id: str | None = "id",
    is_transactional: bool = True,
    value: bytes = b"v",
) -> ProduceRequest:
    batch = batch_of(
        value,
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    return request(("t", 0, bytes(batch)), transactional_id=transactional_id)


def end(ways: tuple[Way, Way], epoch: int = 0, *, commits: bool = True) -> None:
    """The transaction's marker, as the coordinator writes it."""
    for way in ways:
        partition = way.broker.manager.partition(TopicPartition("t", 0))
        marker, now_ms = marker_of(7, epoch, commits=commits), way.broker.clock.now_ms()
        with contextlib.suppress(KafkaError):
            partition.append(marker, -1, AppendOrigin.COORDINATOR, now_ms)


def known_of(way: Way) -> object:
    """What the partition knows of the producer, and how far committed readers get."""
    log = way.broker.manager.partition(TopicPartition("t", 0)).view.log
    state = None if log is None else log.producers.get(7)
    if log is None or state is None:
        return None
    names = ("producer_epoch", "current_txn_first_offset", "last_timestamp", "batches")
    said = [getattr(state, name) for name in names]
    awaited = [
        (each.lowest_sequence, each.producer_epoch, each.supports_epoch_bump)
        for each in log.producers.verifications.values()
    ]
    ends = log.producers.first_unstable_offset, log.producers.map_end_offset
    return said, ends, awaited, log.producers.with_transactions() != []


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        OF_A_TRANSACTION | st.tuples(st.sampled_from([0, 0, 1]), st.booleans()),
        min_size=4,
        max_size=14,
    ),
    st.sampled_from(["none", "commit"]),
)
def test_both_ways_lead_to_the_same_in_transactions(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Any, ...]],
    durability: str,
) -> None:
    async def compare() -> None:
        folder = tmp_path_factory.mktemp("ways")
        async with two_ways(folder, durability=durability) as ways:
            await ask_both(ways, OPENING, in_transaction(0))
            for step in steps:
                if len(step) == 2:
                    end(ways, step[0], commits=step[1])
                else:
                    version, epoch, sequence, is_transactional, named, value = step
                    asked = in_transaction(
                        sequence, epoch, named, is_transactional, value
                    )
                    await ask_both(ways, version, asked)
                assert known_of(ways[0]) == known_of(ways[1])

    asyncio.run(compare())


@pytest.mark.parametrize("durability", ["none", "commit"])
@VERSIONS
async def test_a_transaction_goes_on_by_the_short_way(
    tmp_path: Path, version: int, durability: str
) -> None:
    async with two_ways(tmp_path, durability=durability) as ways:
        await ask_both(ways, OPENING, in_transaction(0))
        for sequence in (1, 2, 3):
            await ask_both(ways, version, in_transaction(sequence))
        # The first one of a version finds the route.
        assert ways[0].short_count == (3 if version == OPENING else 2)
        assert known_of(ways[0]) == known_of(ways[1])
        end(ways)
        count = ways[0].short_count
        await ask_both(ways, version, in_transaction(4))
        await ask_both(ways, version, in_transaction(4, epoch=1))
        assert ways[0].short_count == count, "it begins there"


class Coordinator(ScriptedCoordinator):
    """Takes its time where ``is_slow``."""

    is_slow = False

    def admit(self, addition: Addition) -> dict[TopicPartition, int] | Parked:
        codes = super().admit(addition)
        if not self.is_slow:
            return codes
        parked: Parked[Any] = Parked()
        asyncio.get_running_loop().call_soon(parked.set_result, codes)
        return parked


def coordinators(ways: tuple[Way, Way]) -> list[Coordinator]:
    made = [Coordinator(), Coordinator()]
    for way, each in zip(ways, made, strict=True):
        way.broker.services.transactions = cast("Any", each)
    return made


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        OF_A_TRANSACTION
        | st.tuples(st.sampled_from([0, 0, 1]), st.booleans())
        | st.tuples(
            st.booleans(),
            st.sampled_from([0, 0, 0, 47, 51, 120]),
            st.just("a word"),
        ),
        min_size=4,
        max_size=14,
    ),
    st.sampled_from(["none", "commit"]),
)
def test_both_ways_lead_to_the_same_where_transactions_are_verified(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Any, ...]],
    durability: str,
) -> None:
    async def compare() -> None:
        folder = tmp_path_factory.mktemp("ways")
        async with two_ways(folder, durability=durability, **VERIFIED) as ways:
            told = coordinators(ways)
            await ask_both(ways, LAST, in_transaction(0))
            end(ways, 1)
            for step in steps:
                if len(step) == 2:
                    end(ways, step[0], commits=step[1])
                elif len(step) == 3:
                    for each in told:
                        each.is_slow, each.codes = step[0], {T0: step[1]}
                else:
                    version, epoch, sequence, is_transactional, named, value = step
                    asked = in_transaction(
                        sequence, epoch, named, is_transactional, value
                    )
                    await ask_both(ways, version, asked)
                assert known_of(ways[0]) == known_of(ways[1])

    asyncio.run(compare())


@VERSIONS
async def test_a_transaction_begins_by_the_short_way_when_its_coordinator_agrees(
    tmp_path: Path, version: int
) -> None:
    async with two_ways(tmp_path, durability="none", **VERIFIED) as ways:
        told = coordinators(ways)
        await ask_both(ways, version, in_transaction(0))  # who is not known yet
        for epoch in 1, 2, 3:  # as in the second protocol, where each end is a new one
            end(ways, epoch)
            await ask_both(ways, version, in_transaction(0, epoch))
            await ask_both(ways, version, in_transaction(1, epoch))
            assert known_of(ways[0]) == known_of(ways[1])
        assert ways[0].short_count == 6
        end(ways, 3)
        await ask_both(ways, version, in_transaction(2, 3))  # and as in the first
        assert ways[0].short_count == 7
        assert told[0].asked == told[1].asked
        assert len(told[0].asked) == 5


async def test_a_coordinator_that_says_no_or_waits_is_asked_the_long_way(
    tmp_path: Path,
) -> None:
    async with two_ways(tmp_path, durability="none", **VERIFIED) as ways:
        told = coordinators(ways)
        await ask_both(ways, LAST, in_transaction(0))
        end(ways, 1)
        for is_slow, code in ((False, 47), (True, 0)):
            for each in told:
                each.is_slow, each.codes = is_slow, {T0: code}
            await ask_both(ways, LAST, in_transaction(0, 1))
            assert ways[0].short_count == 0
            assert known_of(ways[0]) == known_of(ways[1])


async def test_in_a_cluster_the_coordinator_may_be_another_broker(
    tmp_path: Path,
) -> None:
    async with two_ways(tmp_path, durability="none", **VERIFIED) as ways:
        told = coordinators(ways)
        await ask_both(ways, LAST, in_transaction(0))
        end(ways, 1)
        for each in told:
            each.other_brokers = cast("Any", "others")
        await ask_both(ways, LAST, in_transaction(0, 1))
        assert ways[0].short_count == 0
        assert len(told[0].asked) == 2, "by the long way alone"


async def test_what_clients_produce_in_transactions_is_usual(tmp_path: Path) -> None:
    known = Counter[str]()
    async with replicas(tmp_path) as broker:
        for client, version, frame in recorded(ApiKey.PRODUCE):
            _, position = decode_request_header(frame)
            asked, _ = decoder(ProduceRequest, version)(frame, position)
            if asked.transactional_id is None or version < FIRST:
                continue
            for each in asked.topic_data:
                topic_id = each.topic_id if any(each.topic_id) else None
                topic = NewTopic(each.name or client, 1, {}, topic_id)
                await broker.topics.create_topics([topic])
            ways = ShortWays("")
            short = usual_produce.UsualProduce(broker.services, version, ways)
            short(ConnectionInfo(), frame)
            known[client] += sum(map(bool, short._heads.values()))
    assert known == {
        "franz-go": 1,
        "java-clients": 1,
        "kafka-python": 1,
        "librdkafka": 1,
    }, "aiokafka asks by a version that is older"


async def test_who_may_not_use_the_transactional_id_goes_the_long_way(
    tmp_path: Path,
) -> None:
    access, asked = OnlyTopics(), []
    async with two_ways(tmp_path) as ways:
        services = ways[0].broker.services
        short = usual_produce.UsualProduce(
            services, LAST, ShortWays("alice", access=cast("Any", access))
        )
        for name in (None, "id"):
            is_transactional = name is not None
            frame = frame_of(LAST, in_transaction(0, 0, name, is_transactional))
            connection = ways[0].connections[0]
            asked.append(short(connection, memoryview(bytearray(frame))))
    assert asked[0] is not None
    assert asked[1] is None
    assert access.asked == [ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID]


class OnlyTopics:
    """Access of somebody who may write topics, and nothing else."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        self.asked.append(resource_type)
        return resource_type == ResourceType.TOPIC
