"""The answers that Apache Kafka 4.3.1 gave, asked for in the same order."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.transaction.rig import Transactions

BEHAVIOURS = Path(__file__).parents[3] / "golden" / "wire" / "behaviours.jsonl"
# What the handlers see to: topics that are not there, requests without a meaning, and
# versions before PRODUCER_FENCED.
NOT_DECIDED = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.INVALID_REQUEST,
)
FIRST_WITH_FENCED = {"InitProducerId": 4, "AddPartitionsToTxn": 2, "EndTxn": 2}


def steps(group: str) -> list[dict[str, Any]]:
    found = []
    for line in BEHAVIOURS.read_text().splitlines():
        step = json.loads(line)
        if step["group"] == group and step["api"] in FIRST_WITH_FENCED:
            found.append(step)
    return [step for step in found if step.get("response") is not None]


def asked(rig: Transactions, api: str, request: dict[str, Any]) -> tuple[int, Any]:
    """The code, and who may write."""
    if api == "InitProducerId":
        expected = request.get("producerId", -1), request.get("producerEpoch", -1)
        answer = rig.init(
            None if expected == (-1, -1) else expected,
            request["transactionalId"],
            request["transactionTimeoutMs"],
        )
    elif api == "EndTxn":
        answer = rig.end(
            (request["producerId"], request["producerEpoch"]),
            commit=request["committed"],
            transactional_id=request["transactionalId"],
        )
    else:
        partitions = [
            TopicPartition(topic["name"], partition)
            for topic in request["v3AndBelowTopics"]
            for partition in topic["partitions"]
        ]
        answer = rig.add(
            (request["v3AndBelowProducerId"], request["v3AndBelowProducerEpoch"]),
            *partitions,
            transactional_id=request["v3AndBelowTransactionalId"],
        )
    answer = rig.done(answer)
    return (0, answer) if isinstance(answer, tuple) else (answer, None)


def recorded_code(api: str, response: dict[str, Any]) -> int:
    if api != "AddPartitionsToTxn":
        return int(response["errorCode"])
    (topic, *_) = response["resultsByTopicV3AndBelow"]
    return int(topic["resultsByPartition"][0]["partitionErrorCode"])


@pytest.mark.parametrize(
    ("group", "first_id", "count"),
    [("init-producer-id", 2007, 9), ("transactions", 2010, 20)],
)
def test_answers_are_those_of_kafka(group: str, first_id: int, count: int) -> None:
    rig = Transactions()
    rig.producer_ids.next = first_id
    compared = 0
    for step in steps(group):
        api, request, response = step["api"], step["request"], step["response"]
        expected = recorded_code(api, response)
        is_plain = api == "InitProducerId" and not request["transactionalId"]
        if is_plain or expected in NOT_DECIDED:
            continue
        code, given = asked(rig, api, request)
        if (
            code == ErrorCode.PRODUCER_FENCED
            and step["version"] < FIRST_WITH_FENCED[api]
        ):
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        assert code == expected, step["description"]
        if api == "InitProducerId" and not code:
            assert given == (response["producerId"], response["producerEpoch"])
        compared += 1
    assert compared >= count
