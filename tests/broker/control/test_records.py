from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.records import record_requests
from tests.broker.control.asked import Requests, answer, refused
from tests.fakes.replicas import NOW_MS, replicas


async def read(requests: Requests, **fields: Any) -> list[tuple[int, int, Any]]:
    items = await answer(requests, "records.read", topic="t", **fields)
    return [(each["partition"], each["offset"], each["value"]) for each in items]


async def test_what_is_appended_is_read(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        requests = record_requests(broker.services)
        await broker.create_topic()
        records = [
            {"key": "k", "value": {"base64": "/w=="}, "headers": [["h", "v"]]},
            {"value": None, "timestamp": 5},
        ]
        done = await answer(requests, "records.append", topic="t", records=records)
        assert done == [
            {"topic": "t", "partition": 0, "offset": 0},
            {"topic": "t", "partition": 0, "offset": 1},
        ]
        first, second = await answer(requests, "records.read", topic="t")
        assert first == {
            "topic": "t",
            "partition": 0,
            "offset": 0,
            "timestamp": NOW_MS,
            "key": "k",
            "value": {"base64": "/w=="},
            "headers": [["h", "v"]],
        }
        assert (second["value"], second["timestamp"]) == (None, 5)


async def test_records_go_by_key_in_turn_or_where_they_say(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        requests = record_requests(broker.services)
        await broker.create_topic("t", 3)
        records = [
            *({"value": "a"}, {"value": "b"}, {"key": "k", "value": "c"}),
            *({"value": "d"}, {"value": "e"}, {"value": "f", "partition": 1}),
        ]
        done = await answer(requests, "records.append", topic="t", records=records)
        places = [each["partition"] for each in done]
        assert places[:2] + places[3:] == [0, 1, 2, 0, 1]
        again = {"key": "k", "value": "g"}
        (at,) = await answer(requests, "records.append", topic="t", records=[again])
        assert at["partition"] == places[2]
        (at,) = await answer(
            requests, "records.append", topic="t", records=[again], partition=2
        )
        assert at["partition"] == 2


async def test_more_than_a_batch_takes_is_several(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        requests = record_requests(broker.services)
        place = await broker.create_topic(max_message_bytes="1000")
        records = [{"value": "x" * 300, "headers": {"ü" * 20: None}}] * 10
        done = await answer(requests, "records.append", topic="t", records=records)
        assert [each["offset"] for each in done] == list(range(10))
        assert broker.manager.partition(place).append_count > 3
        assert "MESSAGE_TOO_LARGE" in await refused(
            requests, "records.append", topic="t", records=[{"value": "x" * 2000}]
        )


async def test_some_of_them_are_read(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        requests = record_requests(broker.services)
        await broker.create_topic("t", 2)
        records = [
            {"value": str(number), "timestamp": 100 - number, "partition": number % 2}
            for number in range(6)
        ]
        await answer(requests, "records.append", topic="t", records=records)
        assert await read(requests, partition=1) == [
            (1, 0, "1"),
            (1, 1, "3"),
            (1, 2, "5"),
        ]
        assert await read(requests, partition=0, **{"from": 1, "to": 2}) == [
            (0, 1, "2")
        ]
        # By their time, whichever partition they are in.
        assert await read(requests, last=2) == [(1, 1, "3"), (0, 1, "2")]
        assert await read(requests, last=0) == []


async def test_nothing_is_written_when_one_is_no_record(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        requests = record_requests(broker.services)
        await broker.create_topic()

        async def why(*records: Any, **fields: Any) -> str:
            given = list(records)
            return await refused(
                requests, "records.append", topic="t", records=given, **fields
            )

        good = {"value": "x"}
        assert "record 1: 'valeu' is not a field" in await why(good, {"valeu": "y"})
        assert "record 1: it is not a JSON object" in await why(good, "y")
        assert "record 0: there is no partition 3 in t: it has only 0" in await why(
            good, partition=3
        )
        assert "there is no partition 1" in await why({"value": "x", "partition": 1})
        assert await read(requests) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"topic": "orders"}, "there is no topic orders; did you mean order?"),
        ({"topic": "order", "partition": 2}, "no partition 2 in order: it has 0 to 1"),
        ({"topic": "order", "last": 1, "from": 0}, "last is for a request without"),
        ({"topic": "order", "abortd": True}, "did you mean aborted?"),
        ({"topic": "order", "from": -1}, "from is -1; it is at least 0"),
    ],
)
async def test_reads_that_make_no_sense(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("order", 2)
        requests = record_requests(broker.services)
        assert message in await refused(requests, "records.read", **fields)
