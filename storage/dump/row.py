"""A row of a dump: what kind it is, and named values in the order to be shown."""

from enum import Enum
from typing import NamedTuple, TypeAlias

Fields: TypeAlias = dict[str, object]


class RowKind(Enum):
    """What a row says."""

    FILE = "file"  # which file follows
    BATCH = "batch"  # a batch of a log, whole or not
    ENTRY = "entry"  # an entry of any other file
    NOTE = "note"  # something to know, and nothing wrong
    DAMAGE = "damage"  # bytes that are not what they should be


class Row(NamedTuple):
    """One line of output. Values are what JSON knows; names are Kafka's."""

    kind: RowKind
    fields: Fields


def entry(**fields: object) -> Row:
    """An entry of a side file."""
    return Row(RowKind.ENTRY, fields)


def note(reason: str, **fields: object) -> Row:
    """Something to know."""
    return Row(RowKind.NOTE, {**fields, "reason": reason})


def damage(position: int, end: int, reason: str, **fields: object) -> Row:
    """Bytes from ``position`` up to ``end`` that are not what they should be."""
    return Row(
        RowKind.DAMAGE, {"position": position, "end": end, "reason": reason, **fields}
    )
