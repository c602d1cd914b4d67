"""The format of records, read and written the way its description reads."""

from dataclasses import dataclass
from typing import NoReturn


class MalformedError(Exception):
    pass


@dataclass(frozen=True)
class PlainRecord:
    attributes: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]


class Reader:
    """Takes bytes off the front."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        if count < 0 or count > len(self.data):
            malformed()
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def varint(self, bits: int) -> int:
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number += (byte % 128) << shift
            shift += 7
            if byte < 128:
                break
            if shift >= bits:
                malformed()
        if number >= 2**bits:
            malformed()
        return number // 2 if number % 2 == 0 else -(number + 1) // 2

    def nullable(self) -> bytes | None:
        length = self.varint(32)
        return None if length == -1 else self.take(length)


def malformed() -> NoReturn:
    raise MalformedError


def read_records(payload: bytes, count: int) -> list[PlainRecord]:
    reader = Reader(payload)
    if count < 0:
        malformed()
    records = [read_record(reader.take(reader.varint(32))) for _ in range(count)]
    if reader.data:
        malformed()
    return records


def read_record(body: bytes) -> PlainRecord:
    reader = Reader(body)
    attributes = reader.take(1)[0]
    timestamp_delta, offset_delta = reader.varint(64), reader.varint(32)
    key, value = reader.nullable(), reader.nullable()
    count = reader.varint(32)
    if count < 0:
        malformed()
    headers = []
    for _ in range(count):
        name = reader.nullable()
        if name is None:
            malformed()
        headers.append((name, reader.nullable()))
    if reader.data:
        malformed()
    return PlainRecord(attributes, timestamp_delta, offset_delta, key, value, headers)


def summarize(
    payload: bytes, count: int, base_timestamp: int
) -> tuple[int, int, int, int]:
    records = read_records(payload, count)
    if not records:
        return -1, -1, -1, 0
    if [record.offset_delta for record in records] != list(range(count)):
        malformed()
    if any(record.attributes for record in records):
        malformed()
    times = [java_long(base_timestamp + record.timestamp_delta) for record in records]
    null_keys = sum(record.key is None for record in records)
    return min(times), max(times), times.index(max(times)), null_keys


def java_long(number: int) -> int:
    bits = number % 2**64
    return bits if bits < 2**63 else bits - 2**64


def varint(number: int) -> bytes:
    bits = 2 * number if number >= 0 else -2 * number - 1
    encoded = []
    while bits >= 128:
        encoded.append(bits % 128 + 128)
        bits //= 128
    return bytes([*encoded, bits])


def write_record(record: PlainRecord) -> bytes:
    body = bytes([record.attributes])
    body += varint(record.timestamp_delta) + varint(record.offset_delta)
    body += write_nullable(record.key) + write_nullable(record.value)
    body += varint(len(record.headers))
    for name, value in record.headers:
        body += write_nullable(name) + write_nullable(value)
    return varint(len(body)) + body


def write_nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data
