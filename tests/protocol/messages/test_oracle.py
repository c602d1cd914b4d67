"""Every declared message, in every version, against an independent codec."""

import pytest

from tests.protocol.messages import kafka_python_sample, kio_sample
from tests.protocol.messages.declared import Message, is_request, messages

# (seed, how likely an optional thing is there): all of it, nothing, some.
DRAWS = [(1, 1.0), (2, 0.0), *((seed, 0.6) for seed in range(3, 9))]

CASES = [
    pytest.param(message, version, id=f"{message.__name__}-{version}")
    for message in messages()
    for version in range(message.min_version, message.max_version + 1)
]


def test_all_messages_are_found() -> None:
    names = {message.__name__ for message in messages()}
    assert {"ProduceRequest", "FetchResponse", "LeaveGroupResponse"} <= names
    assert len(names) == len(messages()) >= 44


@pytest.mark.parametrize(("message", "version"), CASES)
def test_agrees_with_an_independent_codec(message: Message, version: int) -> None:
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


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.__name__)
def test_defaults_are_kafkas(message: Message) -> None:
    for version in range(message.min_version, message.max_version + 1):
        kind = kio_type(message, version)
        if kind is not None:
            assert not list(kio_sample.wrong_defaults(message, kind))


@pytest.mark.parametrize(("message", "version"), CASES)
def test_what_a_version_lacks_has_its_default(message: Message, version: int) -> None:
    decoded = message.decode(message().encode(version), version)
    assert decoded == message()


def kio_type(message: Message, version: int) -> type | None:
    return kio_sample.entity_type(
        message.api_key, version, is_request=is_request(message)
    )
