"""How far long work is, on standard error while a person looks at it."""

from __future__ import annotations

import sys
import time

_INTERVAL_S = 0.5
_CLEAR = "\r\x1b[K"
_SIZES = ("B", "KB", "MB", "GB", "TB")


class Progress:
    """One line that is written over; nothing where standard error is no terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start_s = time.monotonic()
        self._next_s = self._start_s + _INTERVAL_S
        self._is_shown = False
        self._is_wanted = sys.stderr.isatty()

    @property
    def elapsed_s(self) -> float:
        """Since it was begun."""
        return time.monotonic() - self._start_s

    def show(self, count: int, size: int, total: int | None = None) -> None:
        """Tell the number of records and bytes, if it is time for it."""
        if not self._is_wanted or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _INTERVAL_S
        self._is_shown = True
        elapsed_s = self.elapsed_s
        text = f"{self._what}: {rates(count, size, elapsed_s)}"
        if total and count:
            left_s = (total - count) * elapsed_s / count
            text += f", {100 * count // total} %, {left_s:.0f} s left"
        sys.stderr.write(_CLEAR + text)
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line empty."""
        if self._is_shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def rates(count: int, size: int, elapsed_s: float) -> str:
    """A number of records, and how fast they went."""
    elapsed_s = max(elapsed_s, 1e-9)
    word = "record" if count == 1 else "records"
    return (
        f"{count} {word}, {size_text(size)} ({count / elapsed_s:,.0f} records/s,"
        f" {size_text(size / elapsed_s)}/s)"
    )


def size_text(size: float) -> str:
    """Like ``12.5 MB``."""
    for unit in _SIZES[:-1]:
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} {_SIZES[-1]}"
