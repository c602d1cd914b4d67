"""A broker that is steered, in this process: its two doors, and none without them."""

import asyncio
import contextlib
import functools
import json
import operator
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.control.http_door import CONNECTIONS_MAX
from odradek.broker.control.server import ControlledServer
from odradek.broker.node.server import Server
from odradek.broker.operate.admin_address import admin_address
from odradek.broker.requests.context import ConnectionInfo
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request
from odradek.testing import Broker
from tests.broker.node.test_server import config, running
from tests.broker.operate.metrics.served import HTTP

TOPIC = {"topics": [{"name": "t", "partitions": 2}]}
MADE = [{"item": {"topic": "t", "partitions": 2}}, {"done": True}]


@contextlib.asynccontextmanager
async def steered(directory: Path, **options: Any) -> AsyncIterator[ControlledServer]:
    server = ControlledServer(config(directory, test_control=True, **options))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def post(port: int | None, name: str, fields: Any) -> tuple[int, bytes]:
    """The status and the body of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(fields).encode()
    head = f"POST /test/v1/{name} HTTP/1.0\r\nHost: localhost\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


async def ask(directory: Path, name: str, fields: dict[str, Any]) -> list[Any]:
    """The lines of the answer on the admin socket."""
    address = admin_address(directory)
    reader, writer = await asyncio.open_unix_connection(address)
    writer.write(json.dumps({"request": name, **fields}).encode() + b"\n")
    writer.write_eof()
    lines = (await reader.read()).splitlines()
    writer.close()
    return [json.loads(line) for line in lines]


async def test_both_doors_give_the_same_answer(tmp_path: Path) -> None:
    async with steered(tmp_path, http_listener=HTTP) as server:
        assert await ask(tmp_path, "topics.create", TOPIC) == MADE
        gone = [{"item": {"topic": "t"}}, {"done": True}]
        assert await ask(tmp_path, "topics.delete", {"topics": ["t"]}) == gone
        port = server.http_port
        status, lines = await post(port, "topics.create", TOPIC)
        assert (status, [json.loads(line) for line in lines.splitlines()]) == (
            200,
            MADE,
        )
        status, line = await post(port, "topics.create", TOPIC)
        assert status == 400
        assert [json.loads(line)] == await ask(tmp_path, "topics.create", TOPIC)
        # What operators ask is asked on the admin socket alone.
        assert (await post(port, "compact", {}))[0] == 404


async def test_waits_leave_room_for_others(tmp_path: Path) -> None:
    async with steered(tmp_path) as server:
        assert server.admin_connections_max == CONNECTIONS_MAX == 256
        assert server._admin is not None
        assert server._admin._connections_max == 256


async def test_without_test_control_there_is_no_such_path(tmp_path: Path) -> None:
    """T354: control off, 404."""
    async with running(tmp_path, http_listener=HTTP) as server:
        assert (await post(server.http_port, "topics.create", TOPIC))[0] == 404
        (answer,) = await ask(tmp_path, "topics.create", TOPIC)
        assert answer["error"] == "unknown-request"
        assert server._admin is not None
        assert server._admin._connections_max == 16


def small_requests() -> dict[str, tuple[Request, int]]:
    """Requests that are answered at once, each with its version."""
    batch = build_batch([NewRecord(b"k", b"v")])
    written = [PartitionProduceData(index=0, records=batch)]
    read = [FetchPartition(partition=0, partition_max_bytes=1000)]
    end = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    return {
        "metadata": (MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9),
        "produce": (
            ProduceRequest(
                acks=1,
                timeout_ms=1000,
                topic_data=[TopicProduceData(name="t", partition_data=written)],
            ),
            12,
        ),
        "fetch": (
            FetchRequest(
                max_bytes=1000,
                session_epoch=-1,
                topics=[FetchTopic(topic="t", partitions=read)],
            ),
            12,
        ),
        "offsets": (
            ListOffsetsRequest(
                replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=end)]
            ),
            9,
        ),
    }


# What the first append of a millisecond calls.
BY_TIME = ("Appends._sample", "FreeSpace.sample_if_due")


def calls_of(server: Server, request: Request, version: int) -> Counter[str]:
    """The functions in Python that any request calls which is not one of the first."""
    frame = memoryview(bytes(encode_request(request, version, 1, "test")))[4:]
    dispatch, client = server._network.dispatcher.entry, ConnectionInfo()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            name = frame.f_code.co_qualname.replace("MovableClock", "SystemClock")
            found[-1][name] += 1

    found: list[Counter[str]] = []
    before = sys.getprofile()
    for number in range(8):
        found.append(Counter())
        sys.setprofile(note if number > 2 else before)
        try:
            dispatch(client, frame)
        finally:
            sys.setprofile(before)
    always = functools.reduce(operator.and_, found[3:])
    return Counter({name: always[name] for name in always if name not in BY_TIME})


async def test_without_a_rule_or_a_journal_requests_cost_what_they_cost_any_broker(
    tmp_path: Path,
) -> None:
    # A time would say it worse: these calls are all that a request is made of.
    async with (
        running(tmp_path / "any", durability="none") as any_broker,
        steered(tmp_path / "steered", durability="none") as server,
    ):
        for each in (any_broker, server):
            await each.services.metadata.create_topic("t", 1)
        for name, (request, version) in small_requests().items():
            calls = calls_of(server, request, version)
            assert calls == calls_of(any_broker, request, version), name
            assert calls.total() > 10
        writer = server.journal
        writer.begin()
        request, version = small_requests()["metadata"]
        more = calls_of(server, request, version)
        writer.end()
        assert more.total() > calls_of(any_broker, request, version).total()


def test_it_answers_what_tests_ask_and_stops_while_a_rule_holds_something() -> None:
    with Broker() as broker:
        assert broker.ask("faults.list") == []
        rule = broker.faults.hold("Metadata")
        broker.topic("t")
        assert rule.held == 0
    assert "Traceback" not in broker_log(broker)


def broker_log(broker: Broker) -> str:
    return "" if not broker.directory.exists() else broker.log()
