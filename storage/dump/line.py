"""Rows as lines: JSON for programs, or text that users of kafka-dump-log know."""

import json
from collections.abc import Iterator
from pathlib import Path

from .row import Fields, Row, RowKind


def json_lines(path: Path, row: Row) -> Iterator[str]:
    """One object: ``type`` (the kind of row), ``file``, and the fields."""
    yield json.dumps({"type": row.kind.value, "file": str(path), **row.fields})


def text_lines(path: Path, row: Row) -> Iterator[str]:
    """One line, and one for each record of a batch. No value begins a new line."""
    fields = row.fields
    match row.kind:
        case RowKind.FILE:
            yield f"Dumping {fields['file']}"
            if "baseOffset" in fields:
                yield f"Log starting offset: {fields['baseOffset']}"
        case RowKind.BATCH:
            records = fields.get("records", ())
            yield words({n: v for n, v in fields.items() if n != "records"})
            if isinstance(records, list):
                yield from (f"| {record_words(record)}" for record in records)
        case RowKind.ENTRY:
            yield words(fields)
        case RowKind.NOTE:
            yield f"Note: {fields['reason']}"
        case RowKind.DAMAGE:
            where = f"bytes {fields['position']} to {fields['end']}"
            yield f"DAMAGE in {path.name}, {where}: {fields['reason']}"


def record_words(record: Fields) -> str:
    """A record; one without a key or a value shows none, as in Kafka's tool."""
    shown = {name: value for name, value in record.items() if value is not None}
    if isinstance(record.get("key"), dict) and record.get("payload", 0) is None:
        shown["payload"] = "<DELETE>"  # a tombstone of a coordinator
    return words(shown)


def words(fields: Fields) -> str:
    """``name: value`` of every field."""
    return " ".join(f"{name}: {_word(value)}" for name, value in fields.items())


def _word(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, list):
        return f"[{','.join(map(_word, value))}]"
    if isinstance(value, dict) and value.keys() == {"hex"}:
        return f"0x{value['hex']}"
    if isinstance(value, dict):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return _printable(text)
    return str(value)


def _printable(text: str) -> str:
    """Without what a terminal takes for a command, or a reader for a new line."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
