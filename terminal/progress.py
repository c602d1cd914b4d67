"""How far long work is: one line that changes, or one JSON line for each step.

A person looks at a terminal and sees one line, written over as work goes on. What
:meth:`Progress.show` and :meth:`Progress.flow` say is gone at the end; what is done
stays. A program reads a stream that is no terminal and gets what is done, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

_INTERVAL_S = 0.5
_SECONDS_MIN = 1e-6
_CLEAR = "\r\x1b[K"
_SIZES = ("B", "KB", "MB", "GB", "TB")


class Progress:
    """Says on ``stream`` what has been done; for people if it is a terminal."""

    def __init__(
        self,
        stream: TextIO | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._monotonic = monotonic
        self._since = monotonic()
        self._next_s = self._since + _INTERVAL_S
        self._is_terminal = self._stream.isatty()
        self._is_shown = self._is_done = False

    def begin(self) -> None:
        """Count the time from here."""
        self._since = self._monotonic()

    def flow(self, step: str, count: int, size: int, total: int | None = None) -> None:
        """Show how many records and bytes went so far, if it is time for it."""
        if not self._is_terminal or self._monotonic() < self._next_s:
            return
        now = self._monotonic()
        self._next_s = now + _INTERVAL_S
        elapsed_s = now - self._since
        text = f"{step}: {rates(count, size, elapsed_s)}"
        if total and count:
            left_s = (total - count) * elapsed_s / count
            text += f", {100 * count // total} %, {left_s:.0f} s left"
        self._show(text)

    def show(self, step: str, **fields: Any) -> None:
        """Show how far a step is, in its own figures."""
        if self._is_terminal:
            text = ", ".join(f"{name} {value:,}" for name, value in fields.items())
            self._show(f"{step}: {text}")

    def note(self, step: str, **fields: Any) -> None:
        """Say what happened, beside the records."""
        if self._is_terminal:
            text = ", ".join(f"{name} {value}" for name, value in fields.items())
            self._show(f"{step}: {text}\n" if text else f"{step}\n")
            self._is_shown = False
        else:
            self._line({"step": step, **fields})

    def done(
        self,
        step: str,
        count: int,
        size: int,
        *,
        remaining: int | None = None,
        **fields: Any,
    ) -> None:
        """Say how many records and bytes were done since the last time."""
        now = self._monotonic()
        seconds, self._since = max(now - self._since, _SECONDS_MIN), now
        if self._is_terminal:
            words = " ".join([step, *(str(each) for each in fields.values())])
            text = f"{words}: {rates(count, size, seconds)}"
            if remaining is not None:
                text += f", {remaining:,} remaining"
            self._show(text)
            self._is_done = True
            return
        line = {"step": step, **fields, "records": count, "bytes": size}
        line |= {"seconds": round(seconds, 3), "records_per_s": round(count / seconds)}
        line |= {"mb_per_s": round(size / seconds / 1e6, 2)}
        if remaining is not None:
            line["remaining"] = remaining
        self._line(line)

    def end(self) -> None:
        """Leave the line: what is done stays, the rest goes."""
        if self._is_shown:
            self._stream.write("\n" if self._is_done else _CLEAR)
            self._stream.flush()
            self._is_shown = False

    def _show(self, text: str) -> None:
        self._stream.write(_CLEAR + text)
        self._stream.flush()
        self._is_shown, self._is_done = True, False

    def _line(self, fields: dict[str, Any]) -> None:
        print(json.dumps(fields, default=str), file=self._stream, flush=True)


def rates(count: int, size: int, elapsed_s: float) -> str:
    """A number of records, and how fast they went."""
    elapsed_s = max(elapsed_s, 1e-9)
    word = "record" if count == 1 else "records"
    return (
        f"{count:,} {word}, {size_text(size)} ({count / elapsed_s:,.0f} records/s,"
        f" {size_text(size / elapsed_s)}/s)"
    )


def size_text(size: float) -> str:
    """Like ``12.5 MB``."""
    for unit in _SIZES[:-1]:
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} {_SIZES[-1]}"
