"""What clients are told: throttling, versions, leaders, coordinators."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.produce import ProduceResponse
from odradek.protocol.schema import Request
from tests.fakes.faulty import Faulty, ResponseT, faulty
from tests.fakes.network import settle
from tests.fakes.traced import PRODUCE_VERSION, produce


async def asked(
    broker: Faulty, request: Request, version: int, cls: type[ResponseT]
) -> ResponseT:
    """The answer to a request on a connection of its own."""
    transport = broker.connect()
    transport.feed(encode_request(request, version, 1, "client"))
    while not transport.sent:  # some wait for a thread
        await settle()
    [answer] = broker.answers(cls, version, transport)
    return answer


async def test_a_throttle_is_told_and_meant(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        match = {"api": "Produce"}
        broker.arm(match=match, when={"times": 1}, throttle={"ms": 500})
        await broker.send(produce(0))
        await broker.send(produce(0))  # it does not keep to that
        answers = broker.answers(ProduceResponse, PRODUCE_VERSION)
        assert [each.throttle_time_ms for each in answers] == [500]
        await broker.broker.clock.tick(500)
        assert len(broker.codes()) == 2


async def test_fewer_versions_are_offered(tmp_path: Path) -> None:
    """T343"""
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match={"api": "Fetch"}, versions={"max": 11, "min": 5})
        answer = await asked(broker, ApiVersionsRequest(), 2, ApiVersionsResponse)
        offered = {e.api_key: (e.min_version, e.max_version) for e in answer.api_keys}
        assert offered[1] == (5, 11)
        assert offered[0] == (0, 13)
        assert rule.count == 1


async def test_a_partition_has_no_leader(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match={"topic": "t", "partition": 1}, leader={})
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        answer = await asked(broker, wanted, 9, MetadataResponse)
        leaders = {e.partition_index: e.leader_id for e in answer.topics[0].partitions}
        assert leaders == {0: 1, 1: -1}
        await broker.send(produce(0, 1))
        assert broker.codes() == [{0: 0, 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}]


async def test_another_node_leads(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        there = {"id": 7, "host": "elsewhere", "port": 99}
        broker.arm(match={"topic": "t"}, leader=there)
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        answer = await asked(broker, wanted, 9, MetadataResponse)
        assert {each.leader_id for each in answer.topics[0].partitions} == {7}
        assert (7, "elsewhere", 99) in [
            (each.node_id, each.host, each.port) for each in answer.brokers
        ]


@pytest.mark.parametrize("version", [3, 4])
async def test_a_group_has_no_coordinator(tmp_path: Path, version: int) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match={"group": "g"}, no_coordinator={})
        wanted = FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"])
        answer = await asked(broker, wanted, version, FindCoordinatorResponse)
        refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if version < 4:
            assert (answer.error_code, answer.port) == (refused, -1)
        else:
            codes = {each.key: each.error_code for each in answer.coordinators}
            assert codes == {"g": refused, "h": 0}
        beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
        told = await asked(broker, beat, 4, HeartbeatResponse)
        assert told.error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(
    "rule",
    [
        {"match": {}, "throttle": {"ms": 5}},
        {"match": {"api": "SaslHandshake"}, "throttle": {"ms": 5}},
        {"match": {}, "versions": {"max": 5}},
        {"match": {"api": "Fetch"}, "versions": {"max": 5, "min": 6}},
        {"match": {"api": "Fetch"}, "versions": {"max": 99}},
        {"match": {"api": "Fetch"}, "versions": {"max": 18, "min": 4}},
        {"match": {"api": "Fetch"}, "versions": {"max": 30, "min": 19}},
        {"match": {}, "leader": {}},
        {"match": {"api": "Fetch", "topic": "t"}, "leader": {}},
        {"match": {"topic": "t"}, "leader": {"host": "h"}},
        {"match": {}, "no_coordinator": {}},
        {"match": {"api": "Heartbeat", "group": "g"}, "no_coordinator": {}},
    ],
)
async def test_what_makes_no_sense_is_refused(
    tmp_path: Path, rule: dict[str, Any]
) -> None:
    async with faulty(tmp_path) as broker:
        with pytest.raises(AdminError):
            broker.arm(**rule)
        assert broker.is_untouched
