"""Messages as JSON."""

import json
from pathlib import Path
from typing import Any

from odradek.broker.control.journal.shown import Shown, code_names
from odradek.protocol.messages.groups import (
    HeartbeatResponse,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.produce import PartitionProduceData
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from tests.fakes.replicas import batch_of, replicas

NOWHERE: Any = None


def test_fields_are_those_of_the_version() -> None:
    answer = HeartbeatResponse(error_code=27)
    shown = Shown(NOWHERE)
    assert shown.message(answer, 0) == {"error_code": 27}
    assert shown.message(answer, 1) == {"throttle_time_ms": 0, "error_code": 27}


def test_bytes_are_text_where_they_are_some() -> None:
    def shown(data: bytes) -> Any:
        member = JoinGroupResponseMember(member_id="m", metadata=data)
        answer = JoinGroupResponse(members=[member])
        return Shown(NOWHERE).message(answer, 5)["members"][0]["metadata"]

    assert shown(b"text") == "text"
    assert shown(b"\xff") == {"base64": "/w=="}
    assert shown(bytes(1000)) == {"size": 1000}


def test_records_are_counted_or_shown() -> None:
    data = bytes(batch_of(b"a", b"b"))
    part = PartitionProduceData(index=0, records=data + data[:30])
    counted = Shown(NOWHERE).message(part, 9)["records"]
    assert counted == {"count": 2, "size": len(data) + 30}
    shown = Shown(NOWHERE, has_records=True).message(part, 9)["records"]
    assert [record["value"] for record in shown] == ["a", "b"]
    damaged = PartitionProduceData(index=0, records=bytes(80))
    assert Shown(NOWHERE).message(damaged, 9)["records"] == {"count": 0, "size": 80}
    none = PartitionProduceData(index=0, records=None)
    assert Shown(NOWHERE).message(none, 9)["records"] is None


async def test_a_topic_that_has_an_id_alone_gets_its_name(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("t")
        topic_id = broker.topics.known("t").topic_id
        services: Any = broker.services
        asked = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id)])
        shown = Shown(services).message(asked, 13)
        assert len(shown["topics"][0]["topic_id"]) == 22
        json.dumps(shown)


def test_codes_are_named_each_once() -> None:
    assert code_names(HeartbeatResponse()) == ["NONE"]
    assert code_names(HeartbeatResponse(error_code=9999)) == ["9999"]
    parts = [
        AddPartitionsToTxnPartitionResult(partition_index=n, partition_error_code=48)
        for n in (0, 1)
    ]
    topic = AddPartitionsToTxnTopicResult(name="t", results_by_partition=parts)
    answer = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic])
    assert code_names(answer) == ["INVALID_TXN_STATE"]
