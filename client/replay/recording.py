"""The file of a recording: what clients asked of a broker, and what it answered.

    {"odradek_recording": 1, "odradek": VERSION, "began_ms": N}
    {"call": 1, "connection": 1, "client_id": ID, "api": NAME, "request": BASE64}
    {"call": 1, "answer": BASE64}
    {"call": 2, ...}
    {"calls": N}

A line each, in the order in which they happened, so that a fetch that waits is asked
before the produce that ends its waiting and answered behind it. Frames are whole but
for their length. In place of "answer" may stand "outcome": "unanswered" (nobody wanted
one), "failed" (the connection was closed), "broken" (a fault had damaged the answer).
A call that was open at the end has no second line. The last line says that it is all.
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

FORMAT: Final = 1
PARTIAL: Final = ".partial"
UNANSWERED, FAILED, BROKEN = "unanswered", "failed", "broken"
_OUTCOMES = (UNANSWERED, FAILED, BROKEN)
# A request or an answer has 100 MB at most; a third more in base64.
_LINE_SIZE_MAX = 256 << 20


class BadRecording(ValueError):
    """It cannot be replayed; the message says which file, and why."""


class Asked(NamedTuple):
    """A request, without its length."""

    call: int
    connection: int
    client_id: str | None
    api: str
    request: bytes


class Answered(NamedTuple):
    """What became of a call: an answer without its length, or why there is none."""

    call: int
    answer: bytes | None
    outcome: str = ""


Event = Asked | Answered


def head_line(version: str, began_ms: int) -> bytes:
    """How a recording begins; ``began_ms`` is the real time then."""
    return _line(odradek_recording=FORMAT, odradek=version, began_ms=began_ms)


def event_line(event: Event) -> bytes:
    """One line of it."""
    if isinstance(event, Asked):
        fields = event._asdict()
        return _line(**fields | {"request": _text(event.request)})
    if event.answer is None:
        return _line(call=event.call, outcome=event.outcome)
    return _line(call=event.call, answer=_text(event.answer))


def end_line(calls: int) -> bytes:
    """How it ends, when it is whole."""
    return _line(calls=calls)


def _line(**fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Recording:
    """A recording that is there, and whole. It is read as it is gone through."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Go through all of it once.

        Raises:
            BadRecording: it is none, half of one, or a newer one.
        """
        self.path = Path(path)
        self.began_ms = 0
        self.calls = 0
        for _ in self.events():
            pass

    def events(self) -> Iterator[Event]:
        """What happened, in its order.

        Raises:
            BadRecording: it is not what it should be.
        """
        try:
            with self.path.open("rb") as file:
                yield from self._read(file)
        except FileNotFoundError:
            raise self._missing() from None
        except OSError as error:
            why = error.strerror or error
            raise BadRecording(f"{self.path} cannot be read: {why}") from None

    def _read(self, file: IO[bytes]) -> Iterator[Event]:
        self._take_head(self._parsed(file, 1))
        number, calls, open_calls = 1, 0, set[int]()
        while True:
            number += 1
            fields = self._parsed(file, number)
            if fields is None:
                raise self._half(f"it ends behind line {number - 1}, in the middle")
            if "calls" in fields:
                break
            event = self._event(fields, number)
            if isinstance(event, Asked):
                calls += 1
                open_calls.add(event.call)
            elif event.call not in open_calls:
                raise self._wrong(number, f"nobody has asked call {event.call}")
            else:
                open_calls.remove(event.call)
            yield event
        if fields["calls"] != calls:
            raise self._half(f"it has {calls} of {fields['calls']} calls")
        self.calls = calls

    def _parsed(self, file: IO[bytes], number: int) -> dict[str, Any] | None:
        """The fields in the next line; None behind the last."""
        line = file.readline(_LINE_SIZE_MAX)
        if not line:
            return None
        if not line.endswith(b"\n"):
            if len(line) == _LINE_SIZE_MAX:
                raise self._wrong(number, "it is longer than any request")
            raise self._half(f"it ends in the middle of line {number}")
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict):
            raise self._wrong(number, "it is not an object in JSON")
        return fields

    def _take_head(self, fields: dict[str, Any] | None) -> None:
        if fields is None:
            raise self._half("it is empty")
        number, began_ms = fields.get("odradek_recording"), fields.get("began_ms")
        if type(number) is not int or number < 1:
            raise self._wrong(1, "no recording begins so")
        if number > FORMAT:
            raise BadRecording(
                f"{self.path} has recording format {number}, written by odradek "
                f"{fields.get('odradek')}; this one reads formats up to {FORMAT}"
            )
        if type(began_ms) is not int:
            raise self._wrong(1, "began_ms is not a whole number")
        self.began_ms = began_ms

    def _event(self, fields: dict[str, Any], number: int) -> Event:
        try:
            call = _number(fields["call"])
            if "request" in fields:
                client_id = fields["client_id"]
                return Asked(
                    call,
                    _number(fields["connection"]),
                    None if client_id is None else str(client_id),
                    str(fields["api"]),
                    _bytes(fields["request"]),
                )
            if "answer" in fields:
                return Answered(call, _bytes(fields["answer"]))
            outcome = fields["outcome"]
            if outcome not in _OUTCOMES:
                raise ValueError(f"{outcome!r} is not an outcome")
            return Answered(call, None, outcome)
        except KeyError as error:
            raise self._wrong(number, f"{error.args[0]} is missing") from None
        except (ValueError, TypeError) as error:
            raise self._wrong(number, str(error)) from None

    def _missing(self) -> BadRecording:
        partial = self.path.with_name(self.path.name + PARTIAL)
        if partial.exists():
            return self._half(f"there is only {partial.name}")
        return BadRecording(f"there is no recording at {self.path}")

    def _half(self, why: str) -> BadRecording:
        return BadRecording(f"{self.path} is not a whole recording: {why}")

    def _wrong(self, number: int, why: str) -> BadRecording:
        return BadRecording(f"{self.path}, line {number}: {why}")


def _number(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64: {error}") from None
