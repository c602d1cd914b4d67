"""Records as JSON, as ``consume --json`` writes and ``produce`` reads them.

Bytes that are UTF-8 are a string; others are ``{"base64": "..."}``; null is null.
Headers are pairs of a name and such a value, because a name may come twice.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.record_batch import NO_TIMESTAMP
from odradek.protocol.records import NewRecord

if TYPE_CHECKING:
    from odradek.protocol.records import Record
    from odradek.protocol.topic_partition import TopicPartition

_BASE64 = "base64"
_KEYS = frozenset(
    ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
)


class BadRecord(ValueError):
    """JSON that is no record; the message says what is wrong with it."""


class Addressed(NamedTuple):
    """A record to write, and the partition that it says, or None."""

    record: NewRecord
    partition: int | None


def as_json(place: TopicPartition, record: Record) -> dict[str, Any]:
    """A record as it was read."""
    return {
        "topic": place.topic,
        "partition": place.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[name, _text(value)] for name, value in record.headers],
    }


def from_json(line: bytes, now_ms: int) -> Addressed:
    """A record to write. ``topic`` and ``offset`` are left alone.

    A key or value that is a number, a list or another object is written as JSON.

    Raises:
        BadRecord: it is none.
    """
    try:
        found = json.loads(line)
    except ValueError as error:
        raise BadRecord(f"it is not JSON: {error}") from None
    return from_parsed(found, now_ms)


def from_parsed(found: Any, now_ms: int) -> Addressed:
    """As `from_json`, of what a line was parsed to."""
    if not isinstance(found, dict):
        hint = 'write it like {"key": "k", "value": "v"}'
        raise BadRecord(f"it is not a JSON object; {hint}")
    if strange := sorted(found.keys() - _KEYS):
        raise BadRecord(f"{strange[0]!r} is not a field of a record")
    partition = _number(found, "partition")
    timestamp = _number(found, "timestamp")
    key, value = _bytes(found.get("key")), _bytes(found.get("value"))
    if timestamp is None or timestamp == NO_TIMESTAMP:
        timestamp = now_ms
    record = NewRecord(key, value, timestamp, _headers(found.get("headers")))
    return Addressed(record, partition)


def _number(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    if value is not None and type(value) is not int:
        raise BadRecord(f"{name} is not a whole number: {value!r}")
    return value


def _headers(found: Any) -> list[tuple[str, bytes | None]]:
    if isinstance(found, dict):
        found = list(found.items())
    headers = []
    for each in found or ():
        if not (isinstance(each, list | tuple) and len(each) == 2):
            raise BadRecord("headers are pairs of a name and a value")
        name, value = each
        if not isinstance(name, str):
            raise BadRecord(f"{name!r} cannot be the name of a header")
        headers.append((name, _bytes(value)))
    return headers


def _text(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {_BASE64: base64.b64encode(data).decode()}


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict) and value.keys() == {_BASE64}:
        try:
            return base64.b64decode(str(value[_BASE64]), validate=True)
        except binascii.Error as error:
            raise BadRecord(f"it is not base64: {error}") from None
    return json.dumps(value, ensure_ascii=False).encode()
