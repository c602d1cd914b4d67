"""Requests that fit their schema and mean harm: every API, every version.

Most of a message is as a client would send it, with the names of things that exist, so
that it comes far; some of its values are at an edge, absurd, or of somebody else.
"""

import random
from typing import Any

from odradek.protocol.compiler import encoder
from odradek.protocol.fields import Field
from odradek.protocol.headers import encode_request
from odradek.protocol.record_batch import stamp
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request, Struct
from odradek.protocol.uuids import ZERO_UUID

SIZES = {
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint16": 16,
    "uint32": 32,
}
NAMES = ("t", "g", "x", "consumer", "range", "classic", "__consumer_offsets", "1")
ODD_NAMES = (
    "",
    ".",
    "..",
    "a/b",
    "\0",
    "é𝄞",
    "x" * 249,
    "x" * 250,
    "y" * 32_767,
    "nobody",
    "__transaction_state",
    "*",
    "-1",
    "9" * 40,
)
SMALL = (0, 1, -1, 2, 3, 5, 10, 100, 1000)


class HostileMessages:
    """Makes messages by chance. ``topic_id`` is that of a topic that is there."""

    def __init__(self, seed: int, topic_id: bytes = ZERO_UUID) -> None:
        self._chance = random.Random(seed)
        self.topic_id = topic_id
        self._badness = 0.0

    def frame(self, cls: type[Request], version: int, correlation_id: int) -> bytes:
        """A request with its length in front."""
        self._badness = self._chance.choice((0.02, 0.1, 0.1, 0.3, 1.0))
        message = self.message(cls, version)
        return bytes(encode_request(message, version, correlation_id, "fuzz"))

    def message(self, cls: type[Any], version: int) -> Any:
        """A message or a struct of it."""
        message = cls()
        self._fill(message, version, depth=0)
        return message

    def _fill(self, struct: Struct, version: int, depth: int) -> None:
        for field in struct.fields:
            if not field.versions.cover(version):
                continue
            if field.tag is not None and self._chance.random() < 0.5:
                continue
            setattr(struct, field.name, self._value(field, version, depth))

    def _value(self, field: Field, version: int, depth: int) -> Any:
        chance = self._chance
        is_bad = chance.random() < self._badness
        if field.nullable.cover(version) and chance.random() < (0.5 if is_bad else 0.1):
            return None
        kind = field.kind
        if kind in SIZES:
            return self._integer(kind, is_bad)
        if kind == "array":
            return self._array(field, version, depth, is_bad)
        if kind == "struct":
            struct = field.struct_class()
            self._fill(struct, version, depth + 1)
            return struct
        if kind == "records":
            return self._records(is_bad)
        if kind == "string":
            return chance.choice(ODD_NAMES if is_bad else NAMES)
        if kind == "uuid":
            ids = (ZERO_UUID, chance.randbytes(16), b"\xff" * 16)
            return chance.choice(ids) if is_bad else self.topic_id
        if kind == "boolean":
            return chance.random() < 0.5
        if kind == "float64":
            return chance.choice((0.0, 1.0, -1.0, 1e308, float("inf"), float("nan")))
        assert kind == "bytes", kind
        return chance.randbytes(chance.choice((0, 1, 4, 6, 40)))

    def _integer(self, kind: str, is_bad: bool) -> int:
        bits = SIZES[kind]
        is_signed = not kind.startswith("u")
        lowest = -(1 << bits - 1) if is_signed else 0
        highest = (1 << bits - is_signed) - 1
        chance = self._chance
        if is_bad:
            edges = (lowest, lowest + 1, highest, highest - 1, highest // 2)
            return chance.choice((*edges, chance.randint(lowest, highest)))
        return min(max(chance.choice(SMALL), lowest), highest)

    def _array(self, field: Field, version: int, depth: int, is_bad: bool) -> list[Any]:
        chance = self._chance
        count = chance.choice((0, 2, 3, 50 if depth < 2 else 2)) if is_bad else 1
        items = [self._value(field.element, version, depth + 1) for _ in range(count)]
        if items and is_bad and chance.random() < 0.3:
            items.append(items[0])
        return items

    def _records(self, is_bad: bool) -> bytes:
        chance = self._chance
        batch = build_batch([NewRecord(b"k", b"v" * 20, 1_700_000_000_000)])
        if not is_bad:
            return bytes(batch)
        match chance.randrange(5):
            case 0:
                return chance.randbytes(chance.choice((0, 1, 61, 200)))
            case 1:
                return bytes(batch[: chance.randrange(len(batch))])
            case 2:
                return bytes(batch + batch)
            case 3:
                stamp(batch, chance.choice((1, 1 << 62)), chance.choice((0, -1)))
                return bytes(batch)
            case _:
                batch[chance.randrange(len(batch))] ^= 1 << chance.randrange(8)
                return bytes(batch)


def fullest(cls: type[Request], version: int, field: Field, count: int) -> bytes | None:
    """The body of a request with ``count`` smallest elements in one of its arrays."""
    element = field.element
    item = {"struct": element.of, "string": str, "uuid": lambda: ZERO_UUID}.get(
        element.kind, int
    )
    if element.kind in ("bytes", "records", "array", "float64", "boolean"):
        return None
    message = cls()
    setattr(message, field.name, [item()] * count)
    return b"".join(map(bytes, encoder(cls, version)(message)))
