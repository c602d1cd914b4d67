"""Text for people: columns that stand below each other.

On a terminal a table is as wide as that at most, so that a row is one line: values are
shortened, those of the first column last, as it names what the row is about. Numbers
are never shortened. Where it is no terminal nothing is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .screen import Style, screen_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .screen import Screen

NOTHING = "-"
_GAP = "  "
# A value of fewer columns says nothing any more.
_WIDTH_MIN = 6


class Marked(str):
    """Text of a cell that needs attention."""

    __slots__ = ()


def marked(value: object, needs_attention: bool) -> object:
    """The value of a cell, marked if it needs attention."""
    if not needs_attention:
        return value
    return Marked(NOTHING if value is None else value)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    screen: Screen | None = None,
) -> list[str]:
    """The lines of a table: numbers to the right, ``-`` for None.

    They are made for ``screen``, by default the standard output.
    """
    screen = screen or screen_of()
    given = [list(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in given]
    columns = range(len(head))
    numeric = [_is_numeric([row[column] for row in cells]) for column in columns]
    widths = [
        max(width_of(row[column]) for row in [list(head), *cells]) for column in columns
    ]
    if screen.width is not None:
        fixed = [
            max((width_of(row[column]) for row in cells), default=0) if numbers else 0
            for column, numbers in enumerate(numeric)
        ]
        widths = _fitted(widths, fixed, screen.width - len(_GAP) * (len(head) - 1))
    styles: list[list[Style | None]] = [[Style.HEADING for _ in head]]
    styles += [[_style(value) for value in row] for row in given]
    lines = []
    for texts, of_row in zip([list(head), *cells], styles, strict=True):
        parts = [
            _placed(text, width, numbers, style, screen)
            for text, width, numbers, style in zip(
                texts, widths, numeric, of_row, strict=True
            )
        ]
        lines.append(_GAP.join(parts).rstrip())
    return lines


def printable(text: str) -> str:
    """Without what a terminal takes for a command, or a reader for a new line."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def width_of(text: str) -> int:
    """In columns of a terminal: some characters take two, some none."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def shortened(text: str, width: int, ellipsis: str) -> str:
    """The text, cut where it is wider than ``width`` columns."""
    if width_of(text) <= width:
        return text
    left, kept = width - width_of(ellipsis), []
    for char in text:
        left -= _char_width(char)
        if left < 0:
            break
        kept.append(char)
    return "".join(kept) + ellipsis


def _char_width(char: str) -> int:
    from unicodedata import combining, east_asian_width

    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _fitted(widths: list[int], fixed: Sequence[int], width: int) -> list[int]:
    """Widths of columns that are ``width`` together, if that is possible.

    ``fixed`` is what the numbers of a column need, 0 where it has others.
    """
    least = [
        max(of_numbers, min(width_of_column, _WIDTH_MIN))
        for of_numbers, width_of_column in zip(fixed, widths, strict=True)
    ]
    others = list(range(1, len(widths)))
    widths = _lowered(widths, least, others, width)
    return _lowered(widths, least, [0], width)


def _lowered(
    widths: list[int], least: Sequence[int], columns: list[int], width: int
) -> list[int]:
    """The widest of these columns made narrower, as far as it has to be."""
    widths = list(widths)
    while sum(widths) > width:
        high = [column for column in columns if widths[column] > least[column]]
        if not high:
            break
        widest = max(high, key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _placed(
    text: str, width: int, is_numeric: bool, style: Style | None, screen: Screen
) -> str:
    text = shortened(text, width, screen.ellipsis)
    space = " " * (width - width_of(text))
    shown = screen.styled(text, style)
    return space + shown if is_numeric else shown + space


def _style(value: object) -> Style | None:
    return Style.ATTENTION if isinstance(value, Marked) else None


def _cell(value: object) -> str:
    return NOTHING if value is None else printable(str(value))


def _is_numeric(column: Sequence[str]) -> bool:
    numbers = [text for text in column if text != NOTHING]
    return bool(numbers) and all(text.removeprefix("-").isdecimal() for text in numbers)
