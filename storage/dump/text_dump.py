"""The text files of a log directory: checkpoints, quarantine, identities.

Line by line, so that one bad line does not hide the others.
"""

import json
from collections.abc import Callable, Iterator

from odradek.protocol.uuids import to_text
from odradek.storage.files.meta_properties import (
    BadMetaProperties,
    parse_meta_properties,
)
from odradek.storage.files.partition_metadata import (
    BadPartitionMetadata,
    parse_partition_metadata,
)
from odradek.storage.formats.checkpoint import (
    CheckpointError,
    parse_epochs,
    parse_offsets,
)
from odradek.storage.formats.quarantine_entry import parse_quarantine

from .row import Fields, Row, damage, entry, note

_VERSION = "0"


def dump_offset_checkpoint(data: bytes) -> Iterator[Row]:
    """An offset of every partition."""

    def parse(text: str) -> Fields:
        [(topic_partition, offset)] = parse_offsets(text).items()
        topic, partition = topic_partition
        return {"topic": topic, "partition": partition, "offset": offset}

    return _lines(data, parse)


def dump_epoch_checkpoint(data: bytes) -> Iterator[Row]:
    """Leader epochs, and where each began."""

    def parse(text: str) -> Fields:
        [(epoch, start_offset)] = parse_epochs(text)
        return {"epoch": epoch, "startOffset": start_offset}

    return _lines(data, parse)


def dump_quarantine(data: bytes) -> Iterator[Row]:
    """Damaged ranges that readers pass over."""

    def parse(text: str) -> Fields:
        [found] = parse_quarantine(text)
        return {
            "segment": found.segment_base,
            "position": found.start,
            "end": found.end,
            "baseOffset": found.base_offset,
            "lastOffset": found.last_offset,
            "partitionLeaderEpoch": found.leader_epoch,
            "reason": found.reason,
        }

    return _lines(data, parse)


def dump_partition_metadata(data: bytes) -> Iterator[Row]:
    """The id of the topic."""
    try:
        yield entry(version=0, topic_id=to_text(parse_partition_metadata(data)))
    except BadPartitionMetadata as error:
        yield damage(0, len(data), str(error))


def dump_meta_properties(data: bytes) -> Iterator[Row]:
    """Every property, as it stands; then what is wrong with them."""
    for line in data.decode("latin-1").splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and name[:1] not in ("#", "!"):
            yield entry(property=name, value=value)
    try:
        parse_meta_properties(data)
    except BadMetaProperties as error:
        yield damage(0, len(data), str(error))


def dump_clean_marker(data: bytes) -> Iterator[Row]:
    """What the marker of a clean stop holds; that it is there is what counts."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        yield entry(**{str(name): value for name, value in fields.items()})
    else:
        yield note("not JSON; that the file is there says that the stop was clean")


def _lines(data: bytes, parse: Callable[[str], Fields]) -> Iterator[Row]:
    """Each line in a file of its own, as ``parse`` reads whole files only."""
    if not data:
        yield note("the file is empty: it has no entries")
        return
    first, *lines = data.splitlines(keepends=True)
    version = first.decode("latin-1").strip()
    if version != _VERSION:
        yield damage(0, len(first), f"version {version[:40]!r} is not known")
        return
    count, *lines = lines or [b""]
    position, present = len(first) + len(count), 0
    for line in lines:
        present += 1
        try:
            yield entry(**parse(f"{_VERSION}\n1\n{line.decode().rstrip()}\n"))
        except (CheckpointError, ValueError):
            reason = f"malformed entry {line[:100]!r}"
            yield damage(position, position + len(line), reason)
        position += len(line)
    announced = count.strip()
    if announced != str(present).encode():
        reason = f"{announced[:40]!r} entries announced, {present} present"
        yield damage(len(first), len(first) + len(count), reason)
