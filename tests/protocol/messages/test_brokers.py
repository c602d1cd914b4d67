"""What a controller of Apache Kafka 4.3.1 was asked, and has answered."""

import json
from typing import Any

import pytest

from odradek.protocol.compiler import decoder
from odradek.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from odradek.protocol.messages.brokers import (
    AllocateProducerIdsResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    EnvelopeRequest,
    EnvelopeResponse,
)
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.schema import REQUESTS, RESPONSES
from tests.adopted import METADATA_GOLDEN

RECORDED = json.loads((METADATA_GOLDEN / "joining.json").read_text())
IDS = [f"{each['name']}, {each['version']}" for each in RECORDED]
CORRELATION_ID = 7


def answer(name: str, version: int) -> Any:
    (found,) = [x for x in RECORDED if (x["name"], x["version"]) == (name, version)]
    (cls,) = [x for x in RESPONSES.values() if x.__name__ == found["message"]]
    return decode_response(bytes.fromhex(found["answer"]), cls, version)[1]


@pytest.mark.parametrize("recorded", RECORDED, ids=IDS)
def test_both_ways(recorded: dict[str, Any]) -> None:
    version = recorded["version"]
    frame = bytes.fromhex(recorded["request"])
    header, position = decode_request_header(memoryview(frame))
    cls = REQUESTS[header.api_key]
    request, end = decoder(cls, version)(memoryview(frame), position)
    assert end == len(frame)
    again = encode_request(request, version, CORRELATION_ID, header.client_id)
    assert again[4:] == frame
    answered = bytes.fromhex(recorded["answer"])
    response = decode_response(answered, RESPONSES[header.api_key], version)[1]
    encoded = b"".join(encode_response(response, version, CORRELATION_ID))
    assert encoded[4:] == answered


def test_what_a_controller_says_of_a_registration() -> None:
    codes = [
        answer(name, 4).error_code
        for name in ("another cluster", "a feature is missing", "a directory twice")
    ]
    assert codes == [104, 35, 119]
    assert answer("in use", 4).error_code == 101
    accepted = answer("registered", 4)
    assert isinstance(accepted, BrokerRegistrationResponse)
    assert (accepted.error_code, accepted.broker_epoch) == (0, 1979)
    # Without directories, which came later than these versions.
    assert answer("registered", 1).error_code == 119


def test_what_it_says_of_heartbeats() -> None:
    said = {
        name: (each.is_caught_up, each.is_fenced, each.should_shut_down)
        for name in ("caught up", "unfenced", "leaving")
        if isinstance(each := answer(name, 2), BrokerHeartbeatResponse)
    }
    assert said == {
        "caught up": (True, True, False),
        "unfenced": (True, False, False),
        "leaving": (True, True, True),
    }
    assert answer("an epoch that is over", 2).error_code == 77
    assert answer("unregistered", 2).error_code == 77


def test_producer_ids() -> None:
    given = answer("producer ids", 0)
    assert isinstance(given, AllocateProducerIdsResponse)
    assert (given.producer_id_start, given.producer_id_len) == (4000, 1000)
    assert answer("producer ids of another", 0).error_code == 77


def test_what_is_sent_on() -> None:
    (recorded,) = [each for each in RECORDED if each["name"] == "sent on"]
    frame = bytes.fromhex(recorded["request"])
    _, position = decode_request_header(memoryview(frame))
    envelope, _ = decoder(EnvelopeRequest, 0)(memoryview(frame), position)
    header, begin = decode_request_header(memoryview(envelope.request_data))
    asked, _ = decoder(CreateTopicsRequest, 7)(memoryview(envelope.request_data), begin)
    assert (header.client_id, asked.topics[0].name) == ("a client", "recorded")
    answered = answer("sent on", 0)
    assert isinstance(answered, EnvelopeResponse)
    assert bytes(answered.response_data or b"")[:4] == (9).to_bytes(4, "big")
    assert answer("sent on, of nobody", 0).error_code == 97
    assert answer("not to be sent on", 0).error_code == 42
