import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.cluster.forwarding import Forwarding, principal_bytes
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import (
    MalformedRequest,
    UnknownServerError,
    UnsupportedVersion,
)
from odradek.protocol.headers import decode_request_header, encode_response
from odradek.protocol.messages.brokers import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.adopted import METADATA_GOLDEN


class FakeControllers:
    def __init__(self, answer: EnvelopeResponse | Exception) -> None:
        self.answer = answer
        self.controller_versions: dict[int, tuple[int, int]] = {}
        self.asked: list[EnvelopeRequest] = []

    async def ask_controller(self, request: Any, response_class: Any) -> Any:
        assert response_class is EnvelopeResponse
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def asker(api_version: int = 7) -> Any:
    return SimpleNamespace(
        api_version=api_version,
        correlation_id=9,
        client_id="a client",
        principal="User:ANONYMOUS",
        peer_host="127.0.0.1",
        connection=SimpleNamespace(is_by_token=False),
    )


def test_the_versions_of_what_is_sent_on_are_those_of_the_controller() -> None:
    controllers = FakeControllers(EnvelopeResponse())
    forwarding = Forwarding(controllers)
    assert forwarding.versions == ()
    controllers.controller_versions = {
        ApiKey.CREATE_TOPICS: (2, 7),
        ApiKey.FETCH: (0, 18),
    }
    assert forwarding.versions == ((ApiKey.CREATE_TOPICS, 2, 7),)
    assert forwarding.versions is forwarding.versions


REQUEST = CreateTopicsRequest(
    topics=[CreatableTopic(name="recorded", num_partitions=1, replication_factor=1)],
    timeout_ms=5000,
    validate_only=True,
)


async def test_a_request_goes_as_it_came_with_who_has_sent_it() -> None:
    controllers = FakeControllers(EnvelopeResponse(response_data=b"\0\0\0\x09\0body"))
    body = await Forwarding(controllers).forward(asker(), REQUEST)
    assert body == b"body"
    (recorded,) = [
        each
        for each in json.loads((METADATA_GOLDEN / "joining.json").read_text())
        if each["name"] == "sent on"
    ]
    frame = memoryview(bytes.fromhex(recorded["request"]))
    accepted, _ = decoder(EnvelopeRequest, 0)(frame, decode_request_header(frame)[1])
    assert controllers.asked[0] == accepted


@pytest.mark.parametrize("version", [4, 5])
async def test_the_answer_is_read_behind_its_header(version: int) -> None:
    answered = CreateTopicsResponse(topics=[CreatableTopicResult(name="a", configs=[])])
    data = b"".join(encode_response(answered, version, 9))[4:]
    controllers = FakeControllers(EnvelopeResponse(response_data=data))
    body = await Forwarding(controllers).forward(asker(version), REQUEST)
    again, _ = decoder(CreateTopicsResponse, version)(memoryview(body), 0)
    assert [each.name for each in again.topics] == ["a"]


async def test_what_the_controller_does_not_know_is_of_no_version() -> None:
    controllers = FakeControllers(EnvelopeResponse(error_code=35))
    with pytest.raises(UnsupportedVersion):
        await Forwarding(controllers).forward(asker(), REQUEST)


@pytest.mark.parametrize("code", [97, 42])
async def test_an_envelope_that_is_refused_is_no_fault_of_the_client(code: int) -> None:
    controllers = FakeControllers(EnvelopeResponse(error_code=code))
    with pytest.raises(UnknownServerError):
        await Forwarding(controllers).forward(asker(), REQUEST)


async def test_what_a_controller_says_is_no_fault_of_the_client_either() -> None:
    controllers = FakeControllers(MalformedRequest("a web server answers"))
    with pytest.raises(UnknownServerError, match="a web server"):
        await Forwarding(controllers).forward(asker(), REQUEST)


async def test_some_requests_are_looked_at_first() -> None:
    controllers = FakeControllers(EnvelopeResponse(response_data=b"\0\0\0\x09\0body"))
    refused = CreateTopicsResponse()

    async def look(ctx: Any, request: Any, send_on: Any) -> Any:
        return await send_on(ctx, request) if request.validate_only else refused

    forwarding = Forwarding(controllers, {ApiKey.CREATE_TOPICS: look})
    assert await forwarding.forward(asker(), REQUEST) == b"body"
    assert await forwarding.forward(asker(), CreateTopicsRequest()) is refused
    assert len(controllers.asked) == 1


def test_a_long_name_of_a_principal() -> None:
    name = "n" * 200
    data = principal_bytes(f"User:{name}", is_by_token=True)
    assert data == b"\0\0\x05User\xc9\x01" + name.encode() + b"\x01\0"


def test_what_is_for_the_controllers() -> None:
    forwarding = Forwarding(cast(Any, None))
    assert forwarding.takes(ApiKey.CREATE_TOPICS)
    assert not forwarding.takes(ApiKey.DELETE_RECORDS)
