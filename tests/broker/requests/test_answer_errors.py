"""The errors that answers have in them."""

from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.requests.answer_errors import errors_in
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.protocol.compiler import encoder
from odradek.protocol.messages.groups import HeartbeatResponse
from odradek.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

ROUTE: Any = SimpleNamespace(
    head_size=9, response_class=ProduceResponse, api_version=12
)


def produced(*codes: int) -> ProduceResponse:
    parts = [PartitionProduceResponse(index=0, error_code=code) for code in codes]
    topic = TopicProduceResponse(name="t", partition_responses=parts)
    return ProduceResponse(responses=[topic])


@pytest.mark.parametrize(
    ("answer", "errors"),
    [
        (produced(0, 0), []),
        (
            produced(0, 3, 3, 6),
            ["UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"],
        ),
        (produced(9999), ["9999"]),
        (HeartbeatResponse(error_code=27), ["REBALANCE_IN_PROGRESS"]),
        (NO_RESPONSE, []),
    ],
)
def test_each_is_named_once(answer: Any, errors: list[str]) -> None:
    assert errors_in(ROUTE, answer) == errors


def test_of_a_body_and_of_a_frame() -> None:
    buffers = encoder(ProduceResponse, 12)(produced(3))
    body = b"".join(buffers)
    for answer in (buffers, body):
        assert errors_in(ROUTE, answer) == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert errors_in(ROUTE, bytes(9) + body, is_framed=True) == [
        "UNKNOWN_TOPIC_OR_PARTITION"
    ]
