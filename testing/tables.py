"""Rows of files: JSON lines, CSV, Parquet.

In CSV the first row has the names of the columns. An empty field is null, ``""`` is an
empty text; a field in quotes may hold commas, line ends, NULs, and quotes as ``""``.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

_FIELD = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\r\n|\n|\r|\Z)')


class BadFile(ValueError):
    """A file that cannot be read; the message says where, and why."""


class Row(NamedTuple):
    """What a row has, by column. ``place`` is for messages: ``FILE, line 3``."""

    place: str
    fields: dict[str, Any]

    def value(self, column: str) -> Any:
        """What it has in a column.

        Raises:
            BadFile: it has no such column; the message has the nearest name.
        """
        if column not in self.fields:
            hint = did_you_mean(column, self.fields)
            raise BadFile(f"{self.place} has no column {column!r}; {hint}")
        return self.fields[column]


def read_rows(path: Path) -> list[Row]:
    """All rows of a file; what it is, its name says.

    Raises:
        BadFile: it cannot be read.
    """
    readers = {
        ".jsonl": _json_rows,
        ".ndjson": _json_rows,
        ".csv": _csv_rows,
        ".parquet": _parquet_rows,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise BadFile(f"{path} is none of {', '.join(readers)}")
    try:
        return list(reader(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}") from None


def did_you_mean(name: str, names: Collection[str]) -> str:
    """What somebody may have meant, or all that there is."""
    close = get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"it has {', '.join(names) or 'none'}"


def _json_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            found = json.loads(line)
        except ValueError as error:
            raise BadFile(f"{place} is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise BadFile(f"{place} is not a JSON object")
        yield Row(place, found)


def _csv_rows(path: Path) -> Iterator[Row]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is not UTF-8: byte {error.start}") from None
    rows = _csv_fields(path, text)
    _, names = next(rows, (0, []))
    if not names or None in names or len(set(names)) < len(names):
        raise BadFile(f"{path} has no first row with a name for each column")
    for number, fields in rows:
        if len(fields) != len(names):
            raise BadFile(
                f"{path}, line {number} has {len(fields)} fields, and there are "
                f"{len(names)} columns"
            )
        columns = dict(zip(map(str, names), fields, strict=True))
        yield Row(f"{path}, line {number}", columns)


def _csv_fields(path: Path, text: str) -> Iterator[tuple[int, list[str | None]]]:
    """The fields of each row, and the line on which it begins; no empty lines."""
    position, number, begin = 0, 1, 1
    fields: list[str | None] = []
    while position < len(text) or fields:
        found = _FIELD.match(text, position)
        if found is None:
            raise BadFile(f"{path}, line {number} has a quote that makes no sense")
        quoted, plain, end = found.groups()
        fields.append(plain or None if quoted is None else quoted.replace('""', '"'))
        number += len(re.findall(r"\r\n|\n|\r", found[0]))
        position = found.end()
        if end == ",":
            continue
        if fields != [None]:
            yield begin, fields
        fields, begin = [], number


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise BadFile(
            f"{path} cannot be read without pyarrow: pip install pyarrow"
        ) from None
    path.stat()  # that it is missing is said in our words
    try:
        rows = parquet.read_table(path).to_pylist()
    except ArrowException as error:
        raise BadFile(f"{path} is no Parquet: {error}") from None
    for number, fields in enumerate(rows, 1):
        yield Row(f"{path}, row {number}", fields)
