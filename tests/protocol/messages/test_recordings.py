"""Every recorded exchange of real clients with Apache Kafka, decoded and encoded.

Most recordings hold only frames; those of ``behaviours.jsonl`` hold Kafka's own JSON
form of the messages too, and each field of it must be in what we decode.
"""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.uuids import to_text
from tests.protocol.messages.declared import Message, is_request, messages

WIRE = Path(__file__).parents[2] / "golden" / "wire"
NOT_RECORDED = {
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.ALLOCATE_PRODUCER_IDS,  # by themselves, as these: see test_brokers
    ApiKey.ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.ENVELOPE,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.FETCH_SNAPSHOT,  # by itself: see tests/broker/quorum
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.WRITE_SHARE_GROUP_STATE,
}
BY_KEY = {(message.api_key, is_request(message)): message for message in messages()}


class Frame(NamedTuple):
    message: Message
    version: int
    body: bytes
    as_json: dict[str, Any] | None
    name: str


def frames() -> Iterator[Frame]:
    for path in sorted(WIRE.glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            exchange = json.loads(line)
            name = f"{path.stem}-{number}"
            # Without an api key it is a frame broken on purpose, or no frame at all.
            if "api_key" in exchange and not exchange.get("cut"):
                yield from _request_in(exchange, name)
                yield from _response_in(exchange, name)


def _request_in(exchange: dict[str, Any], name: str) -> Iterator[Frame]:
    version = exchange["version"]
    message = BY_KEY.get((exchange["api_key"], True))
    is_cut = exchange["request_hex"].endswith("...")  # a frame of a megabyte
    if message and version <= message.max_version and not is_cut:
        frame = bytes.fromhex(exchange["request_hex"])
        is_flexible = version >= message.first_flexible_version
        body = frame[_request_header_size(frame, is_flexible=is_flexible) :]
        yield Frame(message, version, body, exchange.get("request"), name)


def _request_header_size(frame: bytes, *, is_flexible: bool) -> int:
    client_id_size = int.from_bytes(frame[8:10], "big", signed=True)
    size = 10 + max(client_id_size, 0)
    if is_flexible:
        assert frame[size] == 0, "no client of the recordings tags its header"
        size += 1
    return size


def _response_in(exchange: dict[str, Any], name: str) -> Iterator[Frame]:
    message = BY_KEY.get((exchange["api_key"], False))
    if message and exchange["response_hex"]:
        version = exchange["version"]
        if version > message.max_version:
            assert message.api_key == ApiKey.API_VERSIONS
            version = 0  # an unknown version of it is answered in the oldest
        frame = bytes.fromhex(exchange["response_hex"])
        is_flexible = version >= message.first_flexible_version
        # The answer to ApiVersions never has tags in its header (KIP-511).
        header_size = 5 if is_flexible and message.api_key != ApiKey.API_VERSIONS else 4
        # A question that was asked again is shown with the first frame, last answer.
        is_mixed = "retried_until_ready" in exchange
        as_json = None if is_mixed else exchange.get("response")
        yield Frame(message, version, frame[header_size:], as_json, name)


FRAMES = list(frames())

each_message = pytest.mark.parametrize(
    "message", messages(), ids=lambda message: message.__name__
)


def test_every_message_was_recorded() -> None:
    expected = {each for each in messages() if each.api_key not in NOT_RECORDED}
    assert {frame.message for frame in FRAMES} == expected
    assert len(FRAMES) > 1400


@each_message
def test_recorded_frames_come_out_as_they_went_in(message: Message) -> None:
    for frame in FRAMES:
        if frame.message is message:
            decoded, end = decode(frame)
            assert decoded.encode(frame.version) == frame.body[:end], frame.name


@each_message
def test_decoded_fields_are_those_that_kafka_shows(message: Message) -> None:
    for frame in FRAMES:
        if frame.message is message and frame.as_json is not None:
            decoded, _ = decode(frame)
            assert not list(_differ(decoded, frame.as_json, frame.name))


def test_librdkafka_sends_three_bytes_too_many() -> None:
    """It asks for no topics with a count of four bytes where one is right.

    Read as the version says, it asks for all topics, and the rest is superfluous.
    Apache Kafka answers that, and so a broker has to.
    """
    longer = [frame for frame in FRAMES if decode(frame)[1] < len(frame.body)]
    assert [(frame.name, frame.message, frame.version) for frame in longer] == [
        ("librdkafka-15", MetadataRequest, 13)
    ]


def decode(frame: Frame) -> tuple[Any, int]:
    return decoder(frame.message, frame.version)(memoryview(frame.body), 0)


def _differ(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    if isinstance(theirs, dict):
        for name, value in theirs.items():
            yield from _differ(getattr(ours, snake_case(name)), value, f"{path}.{name}")
    elif isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{path} has {len(ours)} elements, not {len(theirs)}"
        for index, pair in enumerate(zip(ours, theirs, strict=False)):
            yield from _differ(*pair, f"{path}[{index}]")
    elif theirs not in shown(ours):
        yield f"{path} is {ours!r}, not {theirs!r}"


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def shown(value: Any) -> tuple[Any, ...]:
    """Return how the JSON may show a value: ids, records and bytes are text there."""
    if not isinstance(value, bytes | memoryview):
        return (value,)
    raw = bytes(value)
    return (raw.hex(), base64.b64encode(raw).decode(), to_text(raw))
