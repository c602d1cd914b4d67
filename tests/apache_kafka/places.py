"""The codes of an answer with their places, and what it names: what rights decide."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.schema import Struct
from tests.wire_compare import fields_of

CODES = ("error_code", "partition_error_code", "topic_config_error_code")
# What an element of a list is found by; the first that it has.
NAMES = ("name", "topic", "topic_name", "group_id", "transactional_id", "key")
NAMES += ("resource_name", "partition_index", "partition", "index", "producer_id")
# What else tells who may do what.
TOLD = ("topic_authorized_operations", "cluster_authorized_operations")
TOLD += ("authorized_operations",)
# These are about the broker, not about who asks.
LEFT_OUT = {"brokers", "nodes", "node_endpoints", "mechanisms", "api_keys", "configs"}

UNKNOWN_TOPIC = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
# Topics that a request may bring into being are called so. Apache Kafka has one a
# moment after it was asked to make it, ours is there at once.
NEW = "new-"
_NEW_CODE = re.compile(rf"(.*\[{NEW}[^]]*\])\.error_code")
# What there is here only to say that it is not there: anything but a denial is that.
NOT_HERE = {ApiKey.CONSUMER_GROUP_HEARTBEAT}
DENIALS = {29, 30, 31, 53}

Place = tuple[str, Any]


def places(api: int, answer: Any) -> list[Place]:
    """Of an answer to ``api``; None is a closed connection."""
    if answer is None:
        return [("closed", True)]
    found = sorted(_walk("", answer))
    if api in NOT_HERE and found[0][1] not in DENIALS:
        return []
    made = {
        match[1]
        for path, value in found
        if value in (0, UNKNOWN_TOPIC) and (match := _NEW_CODE.fullmatch(path))
    }
    return [each for each in found if not any(each[0].startswith(one) for one in made)]


def _walk(path: str, value: Struct) -> Iterator[Place]:
    for field in fields_of(value):
        inner = getattr(value, field)
        if field in LEFT_OUT:
            continue
        if field in CODES or field in TOLD:
            yield f"{path}.{field}", inner
        elif field == "topic_id":
            yield f"{path}.{field}", any(inner)
        elif isinstance(inner, Struct):
            yield from _walk(f"{path}.{field}", inner)
        elif isinstance(inner, list):
            for number, each in enumerate(inner):
                if isinstance(each, Struct):
                    yield from _element(f"{path}.{field}", each, number)


def _element(path: str, element: Struct, number: int) -> Iterator[Place]:
    has = fields_of(element)
    key = next((getattr(element, name) for name in NAMES if name in has), number)
    yield f"{path}[{key}]", "there"
    yield from _walk(f"{path}[{key}]", element)


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """``value``, in which whatever has one of these names has another."""
    if isinstance(value, dict):
        return {key: renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value
