"""Every declared message, in every version, against an independent codec."""

import os

import pytest

from tests.protocol.messages import kafka_python_sample, kio_sample
from tests.protocol.messages.declared import Message, is_request, messages

# (seed, how likely an optional thing is there): all of it, nothing, some.
DRAWS = [(1, 1.0), (2, 0.0), (3, 0.6)]
if os.environ.get("ODRADEK_LONG"):
    DRAWS += [(seed, 0.6) for seed in range(4, 9)]

MESSAGES = messages()
EACH_MESSAGE = pytest.mark.parametrize(
    "message", MESSAGES, ids=[message.__name__ for message in MESSAGES]
)


def test_all_messages_are_found() -> None:
    names = {message.__name__ for message in MESSAGES}
    assert {"ProduceRequest", "FetchResponse", "LeaveGroupResponse"} <= names
    assert len(names) == len(MESSAGES) >= 44


@EACH_MESSAGE
def test_agrees_with_an_independent_codec(message: Message) -> None:
    for version in versions(message):
        _agrees(message, version)


def _agrees(message: Message, version: int) -> None:
    kind = kio_type(message, version)
    if kind is None:
        _agrees_with_kafka_python(message, version)
        return
    for seed, fullness in DRAWS:
        theirs = kio_sample.Sampler(seed, fullness).entity(kind)
        data = kio_sample.encode(theirs)
        ours = message.decode(data, version)
        assert not list(kio_sample.disagreements(ours, theirs))
        assert ours.encode(version) == data


def _agrees_with_kafka_python(message: Message, version: int) -> None:
    kind = kafka_python_sample.message_type(message.__name__, version)
    assert kind is not None, "no oracle knows this message in this version"
    for seed, fullness in DRAWS:
        theirs = kafka_python_sample.sample(kind, version, seed, fullness)
        data = theirs.encode(version=version)
        ours = message.decode(data, version)
        assert not kafka_python_sample.disagreements(
            ours, theirs, kind.json["fields"], version
        )
        assert ours.encode(version) == data


@EACH_MESSAGE
def test_defaults_are_kafkas(message: Message) -> None:
    for version in versions(message):
        kind = kio_type(message, version)
        if kind is not None:
            assert not list(kio_sample.wrong_defaults(message, kind))


@EACH_MESSAGE
def test_what_a_version_lacks_has_its_default(message: Message) -> None:
    for version in versions(message):
        decoded = message.decode(message().encode(version), version)
        assert decoded == message()


def versions(message: Message) -> range:
    return range(message.min_version, message.max_version + 1)


def kio_type(message: Message, version: int) -> type | None:
    return kio_sample.entity_type(
        message.api_key, version, is_request=is_request(message)
    )
