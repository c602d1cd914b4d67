"""Requests of the admin socket, asked without it."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.broker.operate.admin_requests import admin_requests
from odradek.broker.operate.admin_socket import AdminError
from odradek.protocol.record_batch import COMPRESSION_NONE
from odradek.protocol.uuids import ZERO_UUID
from tests.broker.upkeep.compaction.test_cleaning import append, cleaning_of, compacted
from tests.fakes.replicas import Replicas, replicas
from tests.protocol.test_otlp_metrics import GAUGE, data_of


async def ask(broker: Replicas, name: str, **request: Any) -> list[Any]:
    known = admin_requests(broker.services, cleaning_of(broker), [])
    return [item async for item in known[name](request)]


async def test_where_clients_connect_to(tmp_path: Path) -> None:
    class Listener(NamedTuple):
        name: str
        host: str
        port: int

    listeners: Any = [Listener("A", "", 9092), Listener("B", "10.1.2.3", 41234)]
    async with replicas(tmp_path) as broker:
        known = admin_requests(broker.services, cleaning_of(broker), listeners)
        assert [item async for item in known["listeners"]({})] == [
            {"name": "A", "host": "127.0.0.1", "port": 9092},
            {"name": "B", "host": "10.1.2.3", "port": 41234},
        ]
        with pytest.raises(AdminError, match="unknown: x"):
            await anext(known["listeners"]({"x": 1}))


async def test_every_partition_is_compacted(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("t", 3, cleanup_policy="compact")
        place = (await broker.create_topic("u"))._replace(topic="t", partition=2)
        for number in range(3):
            append(broker, place, b"%d" % number)
        await broker.commit()
        items = await ask(broker, "compact", topic="t")
        assert [(each["partition"], each["outcome"]) for each in items] == [
            (0, "nothing-to-clean"),
            (1, "nothing-to-clean"),
            (2, "cleaned"),
        ]
        done = items[2]
        assert done.pop("bytesBefore") > done.pop("bytesAfter") > 0
        assert done == {
            "topic": "t",
            "partition": 2,
            "outcome": "cleaned",
            "reason": None,
            "recordsBefore": 3,
            "recordsAfter": 1,
            "nextDirtyOffset": 3,
            "elapsedMs": 0,
        }


async def test_those_that_are_named_are_compacted_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("t", 3, cleanup_policy="compact")
        items = await ask(broker, "compact", topic="t", partitions=[2, 0, 2])
        assert [each["partition"] for each in items] == [2, 0]


@pytest.mark.parametrize(
    ("request_", "word", "message"),
    [
        ({}, "malformed", "topic must be a name"),
        ({"topic": 7}, "malformed", "topic must be a name"),
        ({"topic": "orders", "partitions": 1}, "malformed", "a list of numbers"),
        ({"topic": "orders", "partitions": [True]}, "malformed", "a list of numbers"),
        ({"topic": "orders", "x": 1}, "malformed", "unknown: x"),
        ({"topic": "odrers"}, "unknown-topic", "odrers; did you mean orders?"),
        ({"topic": "zz"}, "unknown-topic", "there is no topic zz"),
        (
            {"topic": "orders", "partitions": [3, 0, -1]},
            "unknown-partition",
            "no partition -1, 3 in orders: it has 0 to 1",
        ),
    ],
)
async def test_what_cannot_be_meant(
    tmp_path: Path, request_: dict[str, Any], word: str, message: str
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("orders", 2, cleanup_policy="compact")
        with pytest.raises(AdminError, match=message.replace("?", r"\?")) as refused:
            await ask(broker, "compact", **request_)
        assert refused.value.word == word


async def test_logs_that_are_left_alone_are_named(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        known = admin_requests(broker.services, cleaning, [])["uncleanable"]
        assert [item async for item in known({})] == []
        cleaning.uncleanable[log.topic_partition] = "why"
        expected = [{"topic": "t", "partition": 0, "reason": "why"}]
        assert [item async for item in known({})] == expected


async def test_the_metrics_of_clients_are_told(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        telemetry = broker.services.telemetry
        wanted = telemetry.subscribe(ZERO_UUID, {"client_id": "app"})
        pushed = memoryview(data_of(GAUGE))
        telemetry.push(*wanted[:2], pushed, COMPRESSION_NONE, terminating=False)
        [item] = await ask(broker, "client-metrics")
        assert len(item.pop("instance")) == 22
        assert item == {
            "client": "app",
            "name": "a.gauge",
            "attributes": {"client_id": "c"},
            "value": 1.5,
        }
