"""What an output can show: how wide it is, and whether it has colours.

Only a terminal has a width and, unless told otherwise, colours. What is piped or
written to a file is always whole and plain, so that programs can rely on it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

COLOR_CHOICES = ("auto", "always", "never")
_ELLIPSIS, _PLAIN_ELLIPSIS = "…", "~"
_RESET = "\x1b[0m"
_choice = "auto"


class Style(Enum):
    """How a piece of text stands out."""

    HEADING = "\x1b[1m"
    ERROR = "\x1b[1;31m"
    ATTENTION = "\x1b[33m"
    GOOD = "\x1b[32m"


class Screen(NamedTuple):
    """An output; ``width`` in columns, None where lines may be of any length."""

    width: int | None = None
    has_colors: bool = False
    ellipsis: str = _ELLIPSIS

    def styled(self, text: str, style: Style | None) -> str:
        """The text, in colour where there are colours."""
        if style is None or not (self.has_colors and text):
            return text
        return f"{style.value}{text}{_RESET}"


def choose_colors(choice: str) -> None:
    """Let ``--color`` decide: one of ``COLOR_CHOICES``."""
    global _choice
    assert choice in COLOR_CHOICES, choice
    _choice = choice


def screen_of(
    stream: TextIO | None = None, environ: Mapping[str, str] = os.environ
) -> Screen:
    """What ``stream`` can show, by default the standard output."""
    stream = sys.stdout if stream is None else stream
    is_terminal = _is_terminal(stream)
    return Screen(
        _width(stream, environ) if is_terminal else None,
        _has_colors(is_terminal, environ),
        _ellipsis(stream),
    )


def styled(text: str, style: Style | None, stream: TextIO | None = None) -> str:
    """The text as ``stream`` shows it, by default the standard output."""
    return screen_of(stream).styled(text, style)


def _is_terminal(stream: TextIO) -> bool:
    with suppress(ValueError):  # it is closed
        return stream.isatty()
    return False


def _has_colors(is_terminal: bool, environ: Mapping[str, str]) -> bool:
    """As no-color.org has it: an argument is stronger than the environment."""
    if _choice != "auto":
        return _choice == "always"
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return is_terminal


def _width(stream: TextIO, environ: Mapping[str, str]) -> int | None:
    """In columns; None where nobody knows."""
    chosen = environ.get("COLUMNS", "")
    if chosen.isascii() and chosen.isdigit() and int(chosen):
        return int(chosen)
    # shutil asks the same, and loads the libraries of archives with it.
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(stream.fileno()).columns or None
    return None


def _ellipsis(stream: TextIO) -> str:
    try:
        _ELLIPSIS.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _PLAIN_ELLIPSIS
    return _ELLIPSIS
