"""How far long work has come: one line that changes, or one JSON line for each step."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS_MIN = 1e-6


class Progress:
    """Says on ``stream`` what has been done; for people if it is a terminal."""

    def __init__(
        self,
        stream: TextIO | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._monotonic = monotonic
        self._began = self._since = monotonic()
        self._is_terminal = self._stream.isatty()
        self._width = 0

    def note(self, step: str, **fields: Any) -> None:
        """Say what happened, beside the records."""
        if self._is_terminal:
            text = ", ".join(f"{name} {value}" for name, value in fields.items())
            self._show(f"{step}: {text}" if text else step, end="\n")
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
        """Say how many records and bytes were written since the last time."""
        now = self._monotonic()
        seconds, self._since = max(now - self._since, _SECONDS_MIN), now
        rate, size_rate = count / seconds, size / seconds / 1e6
        if self._is_terminal:
            text = f"{step} {' '.join(str(each) for each in fields.values())}: "
            text += f"{count:,} records, {rate:,.0f}/s, {size_rate:,.1f} MB/s"
            if remaining is not None:
                text += f", {remaining:,} remaining"
            self._show(text)
            return
        line = {"step": step, **fields, "records": count, "bytes": size}
        line |= {"seconds": round(seconds, 3), "records_per_s": round(rate)}
        line |= {"mb_per_s": round(size_rate, 2)}
        if remaining is not None:
            line["remaining"] = remaining
        self._line(line)

    def show(self, step: str, **fields: Any) -> None:
        """Say how far a step is; on a terminal only, where the line changes."""
        if self._is_terminal:
            text = ", ".join(f"{name} {value:,}" for name, value in fields.items())
            self._show(f"{step}: {text}")

    def begin(self) -> None:
        """Count the time from here."""
        self._since = self._monotonic()

    def end(self) -> None:
        """Leave the line."""
        if self._is_terminal and self._width:
            print(file=self._stream)
            self._width = 0

    def _show(self, text: str, end: str = "") -> None:
        padding = " " * max(self._width - len(text), 0)
        print(f"\r{text}{padding}", end=end, file=self._stream, flush=True)
        self._width = 0 if end else len(text)

    def _line(self, fields: dict[str, Any]) -> None:
        print(json.dumps(fields, default=str), file=self._stream, flush=True)
