"""Calls of the journal, decoded."""

from pathlib import Path
from typing import Any

from odradek.broker.control.faults.match import Match
from odradek.broker.control.journal.reading import Reading
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.fakes.faulty import Faulty, faulty
from tests.fakes.replicas import batch_of
from tests.fakes.traced import PRODUCE_VERSION, commit, produce


def items(broker: Faulty, **options: bool) -> list[dict[str, Any]]:
    services: Any = broker.broker.services
    reading = Reading(broker.dispatcher, services, **options)
    return [reading.item(call) for call in broker.journal.calls]


async def test_a_call_says_what_was_asked_and_answered(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        await broker.send(produce(1))
        [item] = items(broker)
        assert item["api"] == "Produce"
        assert item["version"] == PRODUCE_VERSION
        assert item["client_id"] == "client"
        assert item["connection"] == "127.0.0.1:50000"
        assert item["codes"] == ["NONE"]
        assert item["rules"] == []
        assert item["request_size"] == len(produce(1)) - 4
        assert item["answer_size"] > 0
        [asked] = item["request"]["topic_data"][0]["partition_data"]
        assert asked == {
            "index": 1,
            "records": {"count": 1, "size": len(batch_of(b"v"))},
        }
        [answered] = item["answer"]["responses"][0]["partition_responses"]
        assert (answered["index"], answered["base_offset"]) == (1, 0)


async def test_records_are_decoded_for_who_wants_them(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        await broker.send(produce(0))
        [item] = items(broker, has_records=True)
        [data] = item["request"]["topic_data"][0]["partition_data"]
        [record] = data["records"]
        assert (record["key"], record["value"]) == ("k", "v")


async def test_of_a_large_call_the_records_are_gone(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        records = bytes(batch_of(bytes(20_000)))
        data = PartitionProduceData(index=0, records=records)
        topic = TopicProduceData(name="t", partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
        await broker.send(encode_request(request, PRODUCE_VERSION, 1, "client"))
        [call] = broker.journal.calls
        assert call.request is None
        [item] = items(broker, has_records=True)
        [shown] = item["request"]["topic_data"][0]["partition_data"]
        assert shown["records"] == {"count": 1, "size": len(records)}
        assert item["codes"] == ["NONE"]
        assert broker.reading.is_meant(call, Match(api=0, topic="t"), "NONE", None)
        assert not broker.reading.is_meant(call, Match(api=1), None, None)


async def test_calls_are_told_apart(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        rule = broker.arm(
            match={"api": "Produce", "partition": 1}, error={"code": "CORRUPT_MESSAGE"}
        )
        await broker.send(produce(0) + produce(1) + commit())

        def found(
            match: Match, code: str | None = None, rule: int | None = None
        ) -> list[int]:
            meant = broker.reading.is_meant
            return [
                call.number
                for call in broker.journal.calls
                if meant(call, match, code, rule)
            ]

        numbers = {call.number for call in broker.journal.calls}
        assert set(found(Match())) == numbers
        produces = found(Match(api=ApiKey.PRODUCE))
        assert len(produces) == 2
        assert found(Match(partition=1, api=ApiKey.PRODUCE)) == produces[1:]
        assert found(Match(), "CORRUPT_MESSAGE") == produces[1:]
        assert found(Match(api=ApiKey.PRODUCE), "NONE") == produces[:1]
        assert found(Match(), None, rule.rule_id) == produces[1:]
        assert len(found(Match(group="g"))) == 1
