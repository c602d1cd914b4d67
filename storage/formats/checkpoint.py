"""The text of checkpoint files: a version, a count, one entry a line.

.. code-block:: text

    0                       0
    2                       1
    orders 0 1500           4 1500
    orders 1 1498

Left the offsets of partitions (recovery points, high watermarks, log starts), right
the leader epochs of one partition. Kafka may leave a file empty: no entries.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from odradek.protocol.topic_partition import TopicPartition

_VERSION = "0"
_Entry = TypeVar("_Entry")


class EpochEntry(NamedTuple):
    """A leader epoch and the offset at which it began."""

    epoch: int
    start_offset: int


class CheckpointError(ValueError):
    """A checkpoint that cannot be read; the message names the line."""


def format_offsets(offsets: Mapping[TopicPartition, int]) -> str:
    """The text of the offsets of partitions."""
    return format_lines(
        f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items()
    )


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """The offsets of partitions.

    Raises:
        CheckpointError: another version, a malformed line or a wrong count.
    """
    return dict(parse_lines(text, _offset))


def format_epochs(entries: Iterable[EpochEntry]) -> str:
    """The text of a partition's leader epochs."""
    return format_lines(f"{entry.epoch} {entry.start_offset}" for entry in entries)


def parse_epochs(text: str) -> list[EpochEntry]:
    """The leader epochs of a partition, in the order of the file.

    Raises:
        CheckpointError: another version, a malformed line or a wrong count.
    """
    return parse_lines(text, _epoch)


def format_lines(lines: Iterable[str]) -> str:
    """Version, count and lines."""
    entries = list(lines)
    return "".join(f"{line}\n" for line in (_VERSION, str(len(entries)), *entries))


def parse_lines(text: str, parse_entry: Callable[[list[str]], _Entry]) -> list[_Entry]:
    """The entries behind version and count; ``parse_entry`` gets a line's fields.

    Raises:
        CheckpointError: another version, a wrong count, or a line for which
            ``parse_entry`` raised ValueError.
    """
    if not text:
        return []
    lines = text.splitlines()
    if lines[0].strip() != _VERSION:
        raise CheckpointError(f"line 1: version {lines[0]!r} is not known")
    try:
        count = int(lines[1])
    except (IndexError, ValueError):
        raise CheckpointError("line 2: no count of entries") from None
    entries = []
    for number, line in enumerate(lines[2:], start=3):
        try:
            entries.append(parse_entry(line.split()))
        except ValueError:
            raise CheckpointError(f"line {number}: malformed entry {line!r}") from None
    if len(entries) != count:
        raise CheckpointError(
            f"line 2: {count} entries announced, {len(entries)} present"
        )
    return entries


def _offset(fields: list[str]) -> tuple[TopicPartition, int]:
    topic, partition, offset = fields
    return TopicPartition(topic, int(partition)), int(offset)


def _epoch(fields: list[str]) -> EpochEntry:
    epoch, start_offset = fields
    return EpochEntry(int(epoch), int(start_offset))
