"""The records of coordinators, in words: their types and fields, as Kafka names them.

What is not known (a newer version, a group of another kind) is shown as bytes.
"""

import base64
from collections.abc import Callable, Mapping
from typing import TypeAlias

from odradek.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.group_records import GROUP_RECORDS, GroupMetadataValue
from odradek.protocol.schema import UNSET, Field, Message, Struct
from odradek.protocol.share_records import SHARE_RECORDS
from odradek.protocol.streams_records import STREAMS_RECORDS
from odradek.protocol.transaction_records import TRANSACTION_RECORDS
from odradek.protocol.uuids import to_text

from .row import Fields

RecordTypes: TypeAlias = Mapping[int, tuple[type[Message], type[Message]]]
_Refine: TypeAlias = Callable[[Message, Fields], None]


class RecordDecoder:
    """Keys and values of the records of one internal topic."""

    def __init__(self, types: RecordTypes, refine: "_Refine | None" = None) -> None:
        self._types = types
        self._refine = refine

    def decode(self, key: bytes | None, value: bytes | None) -> tuple[object, object]:
        """What a record says, as values that JSON knows."""
        if key is None or len(key) < 2:
            return _unknown(key), _unknown(value)
        number = _int16(key)
        if number not in self._types:
            return {"type": str(number), "data": _unknown(key[2:])}, _unknown(value)
        key_class, value_class = self._types[number]
        shown = {"type": str(number), "data": self._message(key_class, 0, key[2:])}
        if value is None:
            return shown, None
        if len(value) < 2:
            return shown, _unknown(value)
        version = _int16(value)
        data = self._message(value_class, version, value[2:])
        return shown, {"version": str(version), "data": data}

    def _message(self, cls: type[Message], version: int, data: bytes) -> object:
        if not cls.min_version <= version <= cls.max_version:
            return _unknown(data)
        try:
            message = cls.decode(data, version)
        except MalformedRequest:
            return _unknown(data)
        fields = struct_fields(message, version)
        if self._refine is not None:
            self._refine(message, fields)
        return fields


def decoder_of(topic: str) -> RecordDecoder:
    """For one of the coordinators' own topics."""
    if topic == "__consumer_offsets":
        return RecordDecoder({**GROUP_RECORDS, **STREAMS_RECORDS}, _open_members)
    if topic == "__transaction_state":
        return RecordDecoder(TRANSACTION_RECORDS)
    assert topic == "__share_group_state", topic
    return RecordDecoder(SHARE_RECORDS)


def struct_fields(struct: Struct, version: int) -> Fields:
    """The fields that ``version`` has; a tagged one only where it says something."""
    fields: Fields = {}
    for field in struct.fields:
        if not field.versions.cover(version):
            continue
        value = getattr(struct, field.name)
        if field.tag is not None and _is_default(field, value):
            continue
        fields[_camel(field.name)] = _value(field, value, version)
    return fields


def _is_default(field: Field, value: object) -> bool:
    if field.default is not UNSET:
        return value == field.default
    return value == ([] if field.kind == "array" else field.struct_class())


def _value(field: Field, value: object, version: int) -> object:
    if field.kind == "uuid" and isinstance(value, bytes):
        return to_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_value(field.element, item, version) for item in value]
    if isinstance(value, Struct):
        return struct_fields(value, version)
    return value


def _open_members(message: Message, fields: Fields) -> None:
    """Show what the members of a consumer group said, not only its bytes."""
    if not isinstance(message, GroupMetadataValue):
        return
    if message.protocol_type != PROTOCOL_TYPE:
        return
    shown = fields["members"]
    assert isinstance(shown, list)
    for member, member_fields in zip(message.members, shown, strict=True):
        opened = _consumer(ConsumerProtocolSubscription, bytes(member.subscription))
        member_fields["subscription"] = opened or member_fields["subscription"]
        opened = _consumer(ConsumerProtocolAssignment, bytes(member.assignment))
        member_fields["assignment"] = opened or member_fields["assignment"]


def _consumer(cls: type[Message], data: bytes) -> Fields | None:
    if len(data) < 2:
        return None
    version = min(_int16(data), cls.max_version)
    try:
        return struct_fields(cls.decode(data[2:], version), cls.max_version)
    except (MalformedRequest, ValueError):
        return None


def _unknown(data: bytes | None) -> object:
    return None if data is None else {"hex": data.hex()}


def _int16(data: bytes) -> int:
    return int.from_bytes(data[:2], "big", signed=True)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
