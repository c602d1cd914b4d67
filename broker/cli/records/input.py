"""Records to write, out of lines, JSON lines or whole files."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from odradek.protocol.record_json import Addressed, BadRecord, from_json
from odradek.protocol.records import NewRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_READ_SIZE = 1 << 18
_IDLE_S = 0.05


class LineLayout(NamedTuple):
    """What a line says: one record's value, or its key too, or all of it as JSON."""

    is_json: bool = False
    key_separator: bytes | None = None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None
    is_empty_null: bool = False

    def record(self, line: bytes, now_ms: int) -> Addressed:
        """The record of a line.

        Raises:
            BadRecord: it is not JSON, or has no key where there should be one.
        """
        if self.is_json:
            record, partition = from_json(line, self.timestamp_ms or now_ms)
            if record.key is None and self.key is not None:
                record = record._replace(key=self.key)
            headers = (*self.headers, *record.headers)
            return Addressed(record._replace(headers=headers), partition)
        key, value = self.key, line
        if self.key_separator is not None:
            before, separator, after = line.partition(self.key_separator)
            if not separator:
                raise BadRecord("it has no key separator")
            key, value = before, after
        return Addressed(self._made(key, value, now_ms), None)

    def whole(self, value: bytes, now_ms: int) -> Addressed:
        """A record of all of a file."""
        return Addressed(self._made(self.key, value, now_ms), None)

    def _made(self, key: bytes | None, value: bytes, now_ms: int) -> NewRecord:
        timestamp = now_ms if self.timestamp_ms is None else self.timestamp_ms
        nothing = self.is_empty_null
        return NewRecord(
            None if key == b"" and nothing else key,
            None if value == b"" and nothing else value,
            timestamp,
            self.headers,
        )


def read_lines(
    source: BinaryIO, delimiter: bytes, on_idle: Callable[[], None]
) -> Iterator[bytes]:
    """What stands between delimiters; behind the last one only if there is anything.

    ``on_idle`` is called when nothing came for a moment: somebody types, or a program
    is thinking, and what has come shall not wait for what comes next.
    """
    descriptor = source.fileno()
    rest = b""
    is_idle = False
    while True:
        if not is_idle and not select.select([descriptor], [], [], _IDLE_S)[0]:
            on_idle()
            is_idle = True
        piece = os.read(descriptor, _READ_SIZE)
        if not piece:
            break
        is_idle = False
        *lines, rest = (rest + piece).split(delimiter)
        yield from lines
    if rest:
        yield rest
