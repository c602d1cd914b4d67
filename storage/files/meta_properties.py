"""``meta.properties``: whose log directory this is.

A Java properties file. Version 1 has ``node.id`` and ``directory.id``; version 0,
written by brokers that had ZooKeeper, has ``broker.id`` and no directory id.

What begins with ``odradek.`` is ours, and Apache Kafka passes it over: the number of
the data format, and with which odradek that came. A file without them has format 1.
"""

from pathlib import Path
from typing import Final, NamedTuple

from odradek.protocol.uuids import from_text, to_text

from .files import Files

META_PROPERTIES_NAME: Final = "meta.properties"
FIRST_FORMAT: Final = 1
FIRST_FORMAT_SINCE: Final = "0.1.0"
_FORMAT: Final = "odradek.format"
_SINCE: Final = "odradek.format.since"
_UNFINISHED: Final = "odradek.unfinished"


class BadMetaProperties(ValueError):
    """A ``meta.properties`` that cannot be read."""


class MetaProperties(NamedTuple):
    """The identity of a log directory; ``directory_id`` is None in version 0.

    ``data_format`` came with odradek ``format_since``. ``unfinished`` is what is still
    being done with the directory, before which nobody may serve it; mostly nothing.
    """

    cluster_id: str
    node_id: int
    directory_id: bytes | None = None
    data_format: int = FIRST_FORMAT
    format_since: str = FIRST_FORMAT_SINCE
    unfinished: str = ""


def format_meta_properties(properties: MetaProperties) -> bytes:
    """The content of the file, version 1."""
    lines = [
        "version=1",
        f"cluster.id={properties.cluster_id}",
        f"node.id={properties.node_id}",
    ]
    if properties.directory_id is not None:
        lines.append(f"directory.id={to_text(properties.directory_id)}")
    lines.append(f"{_FORMAT}={properties.data_format}")
    lines.append(f"{_SINCE}={properties.format_since}")
    if properties.unfinished:
        lines.append(f"{_UNFINISHED}={properties.unfinished}")
    return "".join(f"{line}\n" for line in lines).encode()


def parse_meta_properties(data: bytes) -> MetaProperties:
    """What the file says.

    Raises:
        BadMetaProperties: another version, or a field that is missing or malformed.
    """
    try:
        fields = _parse_lines(data.decode("latin-1"))
        version = int(fields["version"])
        if version not in (0, 1):
            raise BadMetaProperties(f"version {version} is not known")
        node_id = int(fields["node.id" if version else "broker.id"])
        directory_id = fields.get("directory.id")
        return MetaProperties(
            fields["cluster.id"],
            node_id,
            from_text(directory_id) if directory_id else None,
            int(fields.get(_FORMAT, FIRST_FORMAT)),
            fields.get(_SINCE, FIRST_FORMAT_SINCE),
            fields.get(_UNFINISHED, ""),
        )
    except KeyError as error:
        raise BadMetaProperties(f"{error.args[0]} is missing") from None
    except BadMetaProperties:
        raise
    except ValueError as error:
        raise BadMetaProperties(str(error)) from error


def read_meta_properties(files: Files, directory: Path) -> MetaProperties | None:
    """The identity of a log directory; None when there is no file.

    Raises:
        BadMetaProperties: the file cannot be read.
    """
    path = directory / META_PROPERTIES_NAME
    try:
        return parse_meta_properties(files.read_bytes(path))
    except FileNotFoundError:
        return None
    except BadMetaProperties as error:
        raise BadMetaProperties(f"{path}: {error}") from error


def write_meta_properties(
    files: Files, directory: Path, properties: MetaProperties
) -> None:
    """Write the file, durably."""
    path = directory / META_PROPERTIES_NAME
    files.write_atomic(path, format_meta_properties(properties))


def _parse_lines(text: str) -> dict[str, str]:
    """Keys and values; the escapes of Java are not needed for these values."""
    fields = {}
    for line in text.splitlines():
        if (line := line.strip()) and line[0] not in "#!":
            key, _, value = line.replace("\\:", ":").replace("\\=", "=").partition("=")
            fields[key.strip()] = value.strip()
    return fields
