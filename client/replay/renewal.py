"""A recorded request as it has to be sent now: with our ids, and records of today.

Where nothing has to be changed it is sent byte for byte, whatever a client has made of
it; what cannot be read, too.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.headers import decode_request_header, encode_request
from odradek.protocol.record_batch import (
    NO_TIMESTAMP,
    check_crc,
    pack_header,
    read_header,
    restamp_crc,
    scan,
)
from odradek.protocol.schema import REQUESTS, Struct

if TYPE_CHECKING:
    from odradek.protocol.headers import RequestHeader
    from odradek.protocol.primitives import Buffer
    from odradek.protocol.schema import Request

    from .ids import Ids

_TIME: Final = "timestamp"


def read_request(frame: bytes) -> tuple[RequestHeader, Request | None]:
    """The header of a request, and the rest where it can be read."""
    try:
        header, position = decode_request_header(memoryview(frame))
    except MalformedRequest:
        return _beginning(frame), None
    kind = REQUESTS.get(header.api_key)
    if kind is None or not kind.min_version <= header.api_version <= kind.max_version:
        return header, None
    try:
        # Values of bytes are views of it, and copied where they are changed.
        return header, kind.decode(memoryview(frame)[position:], header.api_version)
    except (MalformedRequest, KafkaError):
        return header, None


def _beginning(frame: bytes) -> RequestHeader:
    from odradek.protocol.headers import RequestHeader

    key, version, number = struct.unpack(">hhi", frame[:8].ljust(8, b"\0"))
    return RequestHeader(key, version, number)


class Renewal:
    """Makes recorded requests ours; ``later_ms`` is how long ago they were recorded."""

    def __init__(self, ids: Ids, later_ms: int) -> None:
        self._ids = ids
        self._later_ms = later_ms

    def renewed(
        self, frame: bytes, header: RequestHeader, request: Request | None
    ) -> bytes:
        """The request, its length in front."""
        if request is None or not self._renew(request, header.api_version):
            return struct.pack(">i", len(frame)) + frame
        _, version, correlation_id, client_id = header
        return encode_request(request, version, correlation_id, client_id)

    def _renew(self, part: Struct, version: int) -> bool:
        """Change what has to be; whether there was anything."""
        is_changed = False
        for field in part.fields:
            if not field.versions.cover(version):
                continue
            value = getattr(part, field.name)
            if isinstance(value, Struct):
                is_changed |= self._renew(value, version)
            elif value and isinstance(value, list) and isinstance(value[0], Struct):
                is_changed |= any([self._renew(each, version) for each in value])
            elif (new := self._new(field.kind, field.name, value)) is not None:
                setattr(part, field.name, new)
                is_changed = True
        return is_changed

    def _new(self, kind: str, name: str, value: Any) -> Any:
        """What has to stand in place of a value; None: it may stay."""
        if kind == "records":
            return None if value is None else self._new_records(value)
        if name == _TIME and isinstance(value, int):
            return value + self._later_ms if value >= 0 else None
        if isinstance(value, list):
            if not self._ids.is_id(name, value):
                return None
            new: Any = [self._ids.ours(name, each) for each in value]
        elif self._ids.is_id(name, value):
            new = self._ids.ours(name, value)
        else:
            return None
        return None if new == value else new

    def _new_records(self, data: Buffer) -> bytearray | None:
        records = bytearray(data)
        try:
            places = [(position, header.size) for position, header in scan(records)]
        except KafkaError:
            return None
        for position, size in places:
            with memoryview(records) as view, view[position : position + size] as batch:
                self._renew_batch(batch)
        return records if places else None

    def _renew_batch(self, batch: memoryview) -> None:
        header = read_header(batch)
        if not check_crc(batch, header):
            return  # as it was meant to be
        renewed = header._replace(
            producer_id=self._ids.ours("producer_id", header.producer_id)
        )
        if header.max_timestamp != NO_TIMESTAMP:
            renewed = renewed._replace(
                base_timestamp=header.base_timestamp + self._later_ms,
                max_timestamp=header.max_timestamp + self._later_ms,
            )
        pack_header(batch, renewed)
        restamp_crc(batch)
