"""Messages as JSON: each field by Kafka's name, as far as the version has it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from odradek.broker.control.subject import is_topic, name_of
from odradek.protocol.error_fields import error_codes
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.record_batch import scan
from odradek.protocol.record_json import as_json
from odradek.protocol.records import iterate
from odradek.protocol.schema import Struct
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.requests.services import Services
    from odradek.protocol.primitives import Buffer
    from odradek.protocol.record_batch import BatchHeader

_BYTES_MAX = 256


class Shown:
    """Makes JSON of messages; with ``has_records`` of records as well."""

    def __init__(self, services: Services, *, has_records: bool = False) -> None:
        self._services = services
        self._has_records = has_records

    def message(self, part: Struct, version: int) -> dict[str, Any]:
        """A message, or a part of one. A topic that has an id alone gets its name."""
        shown: dict[str, Any] = {}
        for field in part.fields:
            if field.versions.cover(version):
                value = getattr(part, field.name)
                shown[field.name] = self._value(field.kind, value, version)
        if is_topic(part) and not shown.keys() & {"name", "topic", "topic_name"}:
            shown["name"] = name_of(part, self._services)
        return shown

    def _value(self, kind: str, value: Any, version: int) -> Any:
        if isinstance(value, Struct):
            return self.message(value, version)
        if isinstance(value, list):
            return [self._value("", each, version) for each in value]
        if kind == "records":
            return self._records(value)
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
            return to_text(data) if kind == "uuid" else _bytes_shown(data)
        return value

    def _records(self, data: Buffer | None) -> Any:
        if data is None:
            return None
        batches = list(_batches(data))
        if not self._has_records:
            count = sum(header.records_count for _, header in batches)
            return {"count": count, "size": len(data)}
        return [
            record
            for position, _ in batches
            for record in _records_of(memoryview(data)[position:])
        ]


def _records_of(batch: memoryview) -> Iterator[dict[str, Any]]:
    nowhere = TopicPartition("", 0)
    for record in iterate(batch):
        shown = as_json(nowhere, record)
        del shown["topic"], shown["partition"]
        yield shown


def _batches(data: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Those that are whole; what is behind them is left out, or damaged."""
    try:
        yield from scan(data)
    except KafkaError:
        return


def _bytes_shown(data: bytes) -> Any:
    """Text where it is some; of much, its size."""
    if len(data) > _BYTES_MAX:
        return {"size": len(data)}
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def code_names(part: Any) -> list[str]:
    """The errors in a response, each once; NONE when there is none."""
    codes = dict.fromkeys(code for code in error_codes(part) if code)
    return [_name(code) for code in codes] or [ErrorCode.NONE.name]


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
