"""In which format keys and values are: ``--value-format avro --registry URL``.

What a format cannot show is written as it came, and said on the standard error; a
command that met it ends with status 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.client.defaults import REGISTRY_VARIABLE, default_registry
from odradek.terminal.failure import FAILED, fail

from .codecs import PLAIN

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from typing_extensions import Buffer

    from odradek.client.schemas.codec import Codec
    from odradek.client.schemas.registry import SchemaRegistry
    from odradek.protocol.record_json import Addressed
    from odradek.protocol.records import Record
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.terminal.parser import Parser

    from .input import LineLayout

    Write = Callable[[TopicPartition, Record], bytes]

_BY_SCHEMA = ("avro", "protobuf")
FORMATS = (*PLAIN, *_BY_SCHEMA)
_PARTS = ("key", "value")
_PACKAGES = {"fastavro": "fastavro", "google": "protobuf"}


def format_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the formats of keys and values."""
    for part in reversed(_PARTS):
        parser.add_argument(
            f"--{part}-format",
            choices=FORMATS,
            metavar="FORMAT",
            help=f"what a {part} is: {', '.join(FORMATS)} (default: bytes as they are)",
        )
        parser.add_argument(
            f"--{part}-schema",
            type=Path,
            metavar="FILE",
            help=f"the schema of {part}s without a registry: an .avsc, or a"
            " descriptor set of protoc",
        )
        parser.add_argument(
            f"--{part}-message",
            default="",
            metavar="NAME",
            help="which message of a Protobuf schema, like shop.Order",
        )
    parser.add_argument(
        "--registry",
        metavar="URL",
        help="the registry of schemas, like http://localhost:8081, with USER:PASSWORD@"
        f" before the host if it asks for that (default: ${REGISTRY_VARIABLE},"
        " or that of the profile)",
    )


class Formats(NamedTuple):
    """How keys and values are read and written; None: as bytes."""

    key: Codec | None
    value: Codec | None


def formats_of(
    parser: Parser, command: str, options: argparse.Namespace, topic: str = ""
) -> Formats | None:
    """What the arguments name; None for no format at all.

    ``topic`` is where records are written. Ends the process when a format lacks
    something.
    """
    if not (options.key_format or options.value_format):
        return None
    try:
        return Formats(*(_codec(part, options, topic) for part in _PARTS))
    except ModuleNotFoundError as error:
        package = _PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        text = f"the format needs the package {package}: pip install {package}"
        raise SystemExit(fail(command, FAILED, text)) from None
    except ValueError as error:
        parser.error(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        parser.error(f"{where}{error.strerror or error}")


def _codec(part: str, options: argparse.Namespace, topic: str) -> Codec | None:
    name = getattr(options, f"{part}_format")
    if name is None:
        return None
    url = options.registry or default_registry(options.profile)
    if name not in _BY_SCHEMA:
        plain = PLAIN[name]
        return _Unprefixed(plain) if name == "json" and url else plain
    path = getattr(options, f"{part}_schema")
    message = getattr(options, f"{part}_message")
    registry = None
    if url and path is None:
        security = getattr(options, "security", None)
        registry = _registry(url, security.origin if security else "")
    if registry is None and path is None:
        raise ValueError(
            f"--{part}-format {name} needs --registry http://localhost:8081, or"
            f" --{part}-schema FILE"
        )
    subject = f"{topic}-{part}"
    try:
        if name == "avro":
            from odradek.client.schemas.avro import AvroCodec

            schema = None if path is None else path.read_text()
            return AvroCodec(registry, subject, schema)
        from odradek.client.schemas.protobuf import ProtobufCodec

        if path is not None and not message:
            raise ValueError(f"name the message: --{part}-message shop.Order")
        files = None if path is None else path.read_bytes()
        return ProtobufCodec(registry, subject, files, message)
    except ValueError as error:
        where = f"--{part}-schema {path}: " if path is not None else ""
        raise ValueError(f"{where}{error}") from None


def _registry(url: str, client_file: str) -> SchemaRegistry:
    from odradek.client.schemas.registry import SchemaRegistry
    from odradek.client.schemas.registry_options import NOBODY, login_of_file

    login = login_of_file(client_file, url) if client_file else NOBODY
    return SchemaRegistry(url, login=login)


class _Unprefixed:
    """JSON that a registry's serializer wrote has the id of its schema in front."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def decode(self, data: bytes) -> object:
        from odradek.client.schemas.registry import PREFIX_SIZE

        return self._codec.decode(data[PREFIX_SIZE:] if data[:1] == b"\0" else data)

    def encode(self, text: bytes) -> bytes:
        return self._codec.encode(text)


class Shown:
    """Writes records with their keys and values shown in their formats."""

    def __init__(
        self, command: str, formats: Formats, write: Write, *, is_json: bool
    ) -> None:
        self.code = 0
        self._command = command
        self._formats = formats
        self._write = write
        self._is_json = is_json

    def __call__(self, place: TopicPartition, record: Record) -> bytes:
        """The bytes to write, as ``write`` makes them of what it is given."""
        key, key_value = self._decoded("key", place, record)
        value, value_value = self._decoded("value", place, record)
        if not self._is_json:
            return self._write(place, record._replace(key=key, value=value))
        from odradek.protocol.record_json import as_json

        shown: dict[str, Any] = as_json(place, record)
        shown |= key_value | value_value
        return json.dumps(shown, ensure_ascii=False).encode() + b"\n"

    def _decoded(
        self, part: str, place: TopicPartition, record: Record
    ) -> tuple[bytes | None, dict[str, object]]:
        """The text of a key or value, and what it is in JSON, if that is known."""
        codec: Codec | None = getattr(self._formats, part)
        data: bytes | None = getattr(record, part)
        if codec is None or data is None:
            return data, {}
        try:
            found = codec.decode(data)
        except ValueError as error:
            text = f"{place} offset {record.offset}: {part}: {error}"
            self.code = fail(self._command, FAILED, text)
            return data, {}
        return text_of(found), {part: found}


def text_of(found: object) -> bytes:
    """One line: texts as they are, all else as JSON."""
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


class EncodedLayout(NamedTuple):
    """A layout of lines whose keys and values are then written in their formats."""

    layout: LineLayout
    formats: Formats

    @property
    def is_json(self) -> bool:
        """Whether lines are JSON."""
        return self.layout.is_json

    def record(self, line: bytes, now_ms: int) -> Addressed:
        """The record of a line.

        Raises:
            BadRecord: it is none, or is not of the formats.
        """
        return self._encoded(self.layout.record(line, now_ms))

    def whole(self, value: bytes, now_ms: int) -> Addressed:
        """A record of all of a file. Raises as `record` does."""
        return self._encoded(self.layout.whole(value, now_ms))

    def _encoded(self, addressed: Addressed) -> Addressed:
        record = addressed.record
        record = record._replace(
            key=_encoded("key", self.formats.key, record.key),
            value=_encoded("value", self.formats.value, record.value),
        )
        return addressed._replace(record=record)


def _encoded(part: str, codec: Codec | None, text: Buffer | None) -> Buffer | None:
    from odradek.protocol.record_json import BadRecord

    if codec is None or text is None:
        return text
    try:
        return codec.encode(bytes(text))
    except ValueError as error:
        raise BadRecord(f"{part}: {error}") from None
