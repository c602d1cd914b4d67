"""Records of a test: how they are written down, read, and compared.

A record is written as its value alone (text, bytes, None for a tombstone), as a pair of
key and value, or as an object with what it has of ``key``, ``value``, ``headers``,
``partition`` and ``timestamp``. A key or value that is a number, a list or an object is
JSON, and is compared as such.
"""

from __future__ import annotations

import base64
import binascii
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FIELDS = ("key", "value", "headers", "partition", "timestamp")
_SHOWN_MAX = 20
_LENGTH_MAX = 80


class Record(NamedTuple):
    """A record as the broker has it. ``what``: "aborted", "open", "commit" … or ""."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = -1
    partition: int = 0
    offset: int = -1
    what: str = ""

    @property
    def text(self) -> str | None:
        """The value, as text."""
        return None if self.value is None else self.value.decode()

    @property
    def json(self) -> Any:
        """The value, as JSON."""
        return None if self.value is None else json.loads(self.value)

    def __str__(self) -> str:
        """One line for people: where it is, its key, its value."""
        where = f"{self.partition}:{self.offset}"
        headers = f" headers {dict(self.headers)}" if self.headers else ""
        what = f" ({self.what})" if self.what else ""
        return f"{where} {_shown(self.key)} = {_shown(self.value)}{headers}{what}"


class Expected(NamedTuple):
    """What a record should be. ``given`` has the fields that are compared."""

    given: Mapping[str, Any]

    def agrees_with(self, record: Record) -> bool:
        """Whether ``record`` is what was expected."""
        return all(
            _agrees(wanted, getattr(record, name))
            for name, wanted in self.given.items()
        )

    def __str__(self) -> str:
        """One line for people."""
        others = {k: v for k, v in self.given.items() if k not in ("key", "value")}
        text = f"{_shown(self.given.get('value'))}"
        if "key" in self.given:
            text = f"{_shown(self.given['key'])} = {text}"
        return f"{text} {others}" if others else text


def to_json(record: Any) -> dict[str, Any]:
    """A record as the broker reads it.

    Raises:
        ValueError: nobody knows what is meant.
    """
    given = _given(record)
    sent: dict[str, Any] = {
        name: given[name] for name in ("partition", "timestamp") if name in given
    }
    for name in ("key", "value"):
        if name in given:
            sent[name] = _sent(given[name])
    if "headers" in given:
        sent["headers"] = [[name, _sent(of)] for name, of in _pairs(given["headers"])]
    return sent


def all_to_json(records: Iterable[Any]) -> list[dict[str, Any]]:
    """Several records as the broker reads them.

    Raises:
        ValueError: one of them is none, or they are one in place of several.
    """
    if isinstance(records, str | bytes | bytearray | memoryview | dict):
        text = _shown(records)
        raise ValueError(f"records are a list, and this is one: say [{text}]")
    return [to_json(each) for each in records]


def from_json(item: Mapping[str, Any]) -> Record:
    """A record as the broker writes it."""
    return Record(
        _received(item["key"]),
        _received(item["value"]),
        tuple((name, _received(value)) for name, value in item["headers"]),
        item["timestamp"],
        item["partition"],
        item["offset"],
        item.get("what", ""),
    )


def dump(records: Sequence[Record], shown_max: int = _SHOWN_MAX) -> str:
    """The last of them, a line each."""
    lines = [f"  {each}" for each in records[-shown_max:]]
    if len(records) > shown_max:
        lines.insert(0, f"  … {len(records) - shown_max} before these")
    return "\n".join(lines) or "  none"


def check(
    records: Sequence[Record],
    expected: Iterable[Any],
    ordered: str | bool,
    name: str = "the topic",
) -> None:
    """See that ``records`` are those that are expected, and no others.

    Raises:
        AssertionError: they are not; the message has both.
    """
    wanted = [Expected(_given(each)) for each in expected]
    if ordered not in (True, False, "key"):
        raise ValueError(f"ordered is {ordered!r}: it is True, False or 'key'")
    left, found, problems = list(records), [], []
    for each in wanted:
        match = next((record for record in left if each.agrees_with(record)), None)
        if match is None:
            problems.append(f"missing: {each}")
        else:
            left.remove(match)
            found.append(match)
    problems += [f"not expected: {each}" for each in left]
    if not problems and ordered:
        problems = _out_of_order(records, found, by_key=ordered == "key")
    if problems:
        lines = [
            f"{name} does not have the records that were expected",
            *(f"  {each}" for each in problems),
            f"expected {len(wanted)}:",
            *([f"  {each}" for each in wanted] or ["  none"]),
            f"there are {len(records)}:",
            dump(records),
        ]
        raise AssertionError("\n".join(lines))


def _out_of_order(
    records: Sequence[Record], wanted: Sequence[Record], *, by_key: bool
) -> list[str]:
    """What is not where it is ``wanted``; with ``by_key`` among those of one key."""
    if not by_key:
        return [
            f"in the place of {each}: {record}"
            for each, record in zip(wanted, records, strict=True)
            if each != record
        ]
    problems = []
    for key in dict.fromkeys(record.key for record in records):
        of_key = [each for each in records if each.key == key]
        if key is None and len({each.partition for each in of_key}) > 1:
            continue  # no producer promises an order for these
        wanted_of_key = [each for each in wanted if each.key == key]
        problems += _out_of_order(of_key, wanted_of_key, by_key=False)
    return problems


def _given(record: Any) -> dict[str, Any]:
    """What is said of a record, by the names of its fields."""
    if isinstance(record, Record):
        return {"key": record.key, "value": record.value, "headers": record.headers}
    if isinstance(record, dict):
        if strange := [name for name in record if name not in _FIELDS]:
            raise ValueError(
                f"{strange[0]!r} is not a field of a record ({', '.join(_FIELDS)}); a "
                'value that is an object is written as {"value": {...}}'
            )
        return record
    if isinstance(record, tuple):
        if len(record) != 2:
            raise ValueError(f"{record!r} is not a pair of key and value")
        return {"key": record[0], "value": record[1]}
    return {"value": record}


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return json.dumps(value, ensure_ascii=False).encode()


def _sent(value: Any) -> str | dict[str, str] | None:
    data = _bytes(value)
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _received(value: Any) -> bytes | None:
    if isinstance(value, dict):
        return binascii.a2b_base64(value["base64"])
    return None if value is None else str(value).encode()


def _pairs(headers: Any) -> list[tuple[str, Any]]:
    return list(headers.items() if isinstance(headers, dict) else headers)


def _agrees(wanted: Any, has: Any) -> bool:
    if isinstance(has, tuple):
        return [(name, _bytes(of)) for name, of in _pairs(wanted)] == list(has)
    if not isinstance(has, bytes):
        return bool(wanted == has)
    if wanted is None or isinstance(wanted, str | bytes | bytearray | memoryview):
        return _bytes(wanted) == has
    try:
        return bool(json.loads(has) == wanted)
    except ValueError:
        return False


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            value = value.decode()
    text = repr(value)
    return text if len(text) <= _LENGTH_MAX else f"{text[:_LENGTH_MAX]}…"
