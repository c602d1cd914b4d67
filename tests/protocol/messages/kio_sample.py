"""Random messages of kio, and what their values are in our messages.

kio is an independent codec with one class for each message and version. It has
times as timedelta or datetime (without the ``_ms`` of their names), ids as UUID,
codes as an enum. Only bytes that we made ourselves may ever be given to it.
"""

import dataclasses
import datetime
import enum
import io
import random
import types
import typing
import uuid
from collections.abc import Callable, Iterator, Sequence

from kio.index import UnknownEntity, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.primitive import TZAware, i32Timedelta, i64Timedelta

EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
LATEST_MS = 253_402_000_000_000  # late in the year 9999, the last of datetime
STRINGS = ("", "a", "tópico-☃-𝄞", "x" * 127, "y" * 128, "z" * 300)
COUNTS = (0, 1, 1, 2, 3)

# What is None for kio, but a value on the wire.
NONES = {"uuid": bytes(16), "datetime_i64": -1}
# What a field has that declares no default.
DEFAULTS = {
    "float64": 0.0,
    "uuid": bytes(16),
    "string": "",
    "bytes": b"",
    "records": None,
    "bool": False,
}


def entity_type(api_key: int, version: int, *, is_request: bool) -> type | None:
    """Return kio's class for a message, None where kio does not know the version."""
    load = load_request_schema if is_request else load_response_schema
    try:
        return load(api_key, version)
    except UnknownEntity:
        return None


def encode(entity: typing.Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


class Sampler:
    """Makes random entities. ``fullness`` is how likely an optional thing is there."""

    def __init__(self, seed: int, fullness: float) -> None:
        self.random = random.Random(seed)
        self.fullness = fullness

    def entity(self, kind: type) -> typing.Any:
        fields = dataclasses.fields(kind)
        chosen = {field.name: self.field(field) for field in fields if self.has(field)}
        return kind(**chosen)

    def has(self, field: dataclasses.Field[typing.Any]) -> bool:
        is_required = field.default is dataclasses.MISSING
        return is_required or self.random.random() < self.fullness

    def field(self, field: dataclasses.Field[typing.Any]) -> typing.Any:
        kind, is_nullable = without_none(field.type)
        # A tagged field that is null is one that is not there, see ``has``.
        may_be_none = is_nullable and "tag" not in field.metadata
        if may_be_none and self.random.random() >= self.fullness:
            return None
        if typing.get_origin(kind) is not tuple:
            return self.value(kind, field)
        element, _ = typing.get_args(kind)
        count = self.random.choice(COUNTS)
        return tuple(self.value(element, field) for _ in range(count))

    def value(self, kind: type, field: dataclasses.Field[typing.Any]) -> typing.Any:
        if dataclasses.is_dataclass(kind):
            return self.entity(kind)
        return self.primitive(field.metadata["kafka_type"])

    def primitive(self, kafka_type: str) -> typing.Any:
        make: dict[str, Callable[[], typing.Any]] = {
            "bool": lambda: self.random.random() < 0.5,
            "int8": lambda: self.integer(8),
            "int16": lambda: self.integer(16),
            "int32": lambda: self.integer(32),
            "int64": lambda: self.integer(64),
            "uint16": lambda: self.integer(16) + (1 << 15),
            "float64": lambda: self.random.uniform(-1e9, 1e9),
            "string": lambda: self.random.choice(STRINGS),
            "bytes": lambda: self.random.randbytes(self.random.choice((0, 1, 200))),
            "records": lambda: self.random.randbytes(self.random.choice((0, 61, 500))),
            "uuid": lambda: uuid.UUID(bytes=self.random.randbytes(16)),
            "error_code": lambda: self.random.choice(list(ErrorCode)),
            "timedelta_i32": lambda: i32Timedelta.parse(self.integer(32) * MILLISECOND),
            "timedelta_i64": lambda: i64Timedelta.parse(self.integer(48) * MILLISECOND),
            "datetime_i64": lambda: TZAware.parse(
                EPOCH + self.random.randint(0, LATEST_MS) // 1000 * 1000 * MILLISECOND
            ),
        }
        return make[kafka_type]()

    def integer(self, bits: int) -> int:
        """Return any signed integer of that many bits, often one at a border."""
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        return self.random.choice((low, -1, 0, 1, high, self.random.randint(low, high)))


def without_none(kind: typing.Any) -> tuple[typing.Any, bool]:
    """Split ``X | None`` into X and whether there was a None."""
    if typing.get_origin(kind) not in (types.UnionType, typing.Union):
        return kind, False
    options = [option for option in typing.get_args(kind) if option is not type(None)]
    assert len(options) == 1, kind
    return options[0], True


def disagreements(
    ours: typing.Any, entity: typing.Any, path: str = ""
) -> Iterator[str]:
    """Say which fields of our message differ from those of kio's."""
    path = path or type(ours).__name__
    for field in dataclasses.fields(entity):
        name = our_name(type(ours), field.name)
        if name is None:
            yield f"{path} has no {field.name}"
            continue
        theirs = getattr(entity, field.name)
        if theirs is None and not _is_array(field):
            theirs = NONES.get(field.metadata.get("kafka_type", ""))
        yield from _differ(getattr(ours, name), theirs, f"{path}.{name}")


def _is_array(field: dataclasses.Field[typing.Any]) -> bool:
    return typing.get_origin(without_none(field.type)[0]) is tuple


def wrong_defaults(ours: typing.Any, kind: type) -> Iterator[str]:
    """Say which fields of our class, and of those in it, have other defaults."""
    declared = {field.name: field for field in ours.fields}
    for field in dataclasses.fields(kind):
        name = our_name(ours, field.name)
        assert name is not None, field.name
        inner, is_nullable = without_none(field.type)
        is_array = typing.get_origin(inner) is tuple
        element = typing.get_args(inner)[0] if is_array else inner
        if dataclasses.is_dataclass(element):
            mine = declared[name].element if is_array else declared[name]
            yield from wrong_defaults(mine.struct_class, typing.cast(type, element))
            # kio has no default null of arrays of structs.
            has_default = field.default is not dataclasses.MISSING
            if not has_default and (is_nullable or not is_array):
                continue
        yield from _differ(
            getattr(ours(), name),
            _default(field, is_array=is_array),
            f"{ours.__name__}.{name}",
        )


def _default(field: dataclasses.Field[typing.Any], *, is_array: bool) -> typing.Any:
    kafka_type = field.metadata.get("kafka_type", "")
    if field.default is None:
        return None if is_array else NONES.get(kafka_type)
    if field.default is not dataclasses.MISSING:
        return field.default
    if kafka_type == "records" and not without_none(field.type)[1]:
        return b""
    return () if is_array else DEFAULTS.get(kafka_type, 0)


def our_name(kind: type, kio_name: str) -> str | None:
    """Return our name of a field: kio takes the unit off the names of times.

    And it keeps off the names of Python's own functions.
    """
    names = (kio_name, f"{kio_name}_ms", kio_name.removesuffix("_"))
    return next((name for name in names if hasattr(kind, name)), None)


def _differ(ours: typing.Any, theirs: typing.Any, path: str) -> Iterator[str]:
    if isinstance(theirs, tuple):
        yield from _differ_in_elements(ours, theirs, path)
    elif dataclasses.is_dataclass(theirs):
        yield from disagreements(ours, theirs, path)
    elif plain(ours) != plain(theirs) or type(plain(ours)) is not type(plain(theirs)):
        yield f"{path} is {ours!r}, not {theirs!r}"


def _differ_in_elements(
    ours: typing.Any, theirs: Sequence[typing.Any], path: str
) -> Iterator[str]:
    if not isinstance(ours, list) or len(ours) != len(theirs):
        yield f"{path} is {ours!r}, not {len(theirs)} elements"
        return
    for index, (our_element, their_element) in enumerate(
        zip(ours, theirs, strict=True)
    ):
        yield from _differ(our_element, their_element, f"{path}[{index}]")


def plain(value: typing.Any) -> typing.Any:
    """Return a value as our messages have it: integers, text, bytes."""
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    if isinstance(value, enum.IntEnum):
        return int(value)
    if isinstance(value, memoryview | bytes):
        return bytes(value)
    return str(value) if isinstance(value, str) else value
