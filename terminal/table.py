"""Text for people: columns that stand below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTHING = "-"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table: numbers to the right, ``-`` for None."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [
        _is_numeric([row[column] for row in cells]) for column in range(len(head))
    ]
    widths = [
        max(len(row[column]) for row in [list(head), *cells])
        for column in range(len(head))
    ]
    lines = []
    for row in [list(head), *cells]:
        parts = [
            text.rjust(width) if is_numeric else text.ljust(width)
            for text, width, is_numeric in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return lines


def printable(text: str) -> str:
    """Without what a terminal takes for a command, or a reader for a new line."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def _cell(value: object) -> str:
    return NOTHING if value is None else printable(str(value))


def _is_numeric(column: Sequence[str]) -> bool:
    numbers = [text for text in column if text != NOTHING]
    return bool(numbers) and all(text.removeprefix("-").isdecimal() for text in numbers)
