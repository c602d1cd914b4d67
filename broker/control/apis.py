"""The APIs by their names, as Kafka writes them, and what they can be about."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from odradek.broker.requests.offered import OFFERED
from odradek.protocol import messages
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import REQUESTS
from odradek.terminal.spelling import did_you_mean

from .fields import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.protocol.schema import Struct

_PARTITIONS = ("partition_data", "partition_indexes", "partitions")
_GROUP = ("group_id", "group_ids", "groups", "groups_names")
_TRANSACTION = (
    "transactional_id",
    "transactional_ids",
    "v3_and_below_transactional_id",
)

# Asked by topic, these say something of each partition.
_DESCRIBING = (ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS)


def name_of_api(key: int) -> str:
    """The name of an API; its key, of one that nobody knows."""
    try:
        return ApiKey(key).name.title().replace("_", "")
    except ValueError:
        return str(key)


API_NAMES = {name_of_api(key): key for key in OFFERED}


def key_of_api(name: str) -> int:
    """The key of the API with this name, in whatever case.

    Raises:
        AdminError: there is none; the message has the nearest name.
    """
    by_lower = {each.lower(): each for each in API_NAMES}
    known = by_lower.get(name.lower())
    if known is not None:
        return API_NAMES[known]
    meant = did_you_mean(name.lower(), by_lower)
    hint = f"; did you mean {by_lower[meant]}?" if meant else ""
    raise refusal(f"there is no API {name!r}{hint}")


@cache
def about(api_key: int) -> frozenset[str]:
    """Of "topic", "partition", "group" and "transactional_id" what they may name."""
    if api_key == ApiKey.FIND_COORDINATOR:
        return frozenset(("group", "transactional_id"))
    _load()
    names = set(_names_in(REQUESTS[api_key]))
    found = {
        "topic": any("topic" in name for name in names),
        "partition": api_key in _DESCRIBING or not names.isdisjoint(_PARTITIONS),
        "group": not names.isdisjoint(_GROUP),
        "transactional_id": not names.isdisjoint(_TRANSACTION),
    }
    return frozenset(kind for kind, is_there in found.items() if is_there)


def _names_in(part: type[Struct]) -> Iterator[str]:
    for field in part.fields:
        yield field.name
        inner = field.element if field.kind == "array" else field
        if inner.kind == "struct":
            yield from _names_in(inner.struct_class)


@cache
def _load() -> None:
    """A test may arm a rule for an API that nobody has asked for yet."""
    messages.load()
