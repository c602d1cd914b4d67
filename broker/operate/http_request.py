"""Requests to the HTTP server, read from their bytes; the bodies of those that post.

A body is as long as ``Content-Length`` says, and no longer than its reader allows.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

# Said twice, nobody knows which one holds, and two readers would not agree.
_SAID_ONCE = ("authorization", "content-length", "host", "origin", "transfer-encoding")


class BadRequest(Exception):
    """It cannot be read; ``status`` says why, the message says it to people."""

    def __init__(self, status: HTTPStatus, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class HttpRequest(NamedTuple):
    """The head of a request. The names of headers are in lower case."""

    method: str
    path: str
    version: str
    headers: Mapping[str, str]

    @property
    def awaits_consent(self) -> bool:
        """Whether its body comes only when it has been asked for."""
        return self.headers.get("expect", "").lower() == "100-continue"

    def body_size(self, size_max: int) -> int:
        """How many bytes follow.

        Raises:
            BadRequest: that is not said, or more than ``size_max``.
        """
        if "transfer-encoding" in self.headers:
            raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "say Content-Length")
        said = self.headers.get("content-length", "0")
        if not (said.isascii() and said.isdecimal()):
            raise BadRequest(HTTPStatus.BAD_REQUEST, f"Content-Length: {said}")
        if len(said) > 18 or int(said) > size_max:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise BadRequest(status, f"a body has at most {size_max} bytes")
        return int(said)


def parse_head(head: bytes) -> HttpRequest:
    """The request that begins so; ``head`` ends with an empty line.

    Raises:
        BadRequest: it is no HTTP, or not clear.
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    method, target, version = words
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        if name in headers:
            if name in _SAID_ONCE:
                raise BadRequest(HTTPStatus.BAD_REQUEST, f"{name} is said twice")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    return HttpRequest(method, target.partition("?")[0], version, headers)


async def read_body(
    request: HttpRequest,
    size_max: int,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> bytes:
    """All of the body.

    Raises:
        BadRequest: it is longer than that, or its length is not said.
        IncompleteReadError: it ended before its end.
    """
    size = request.body_size(size_max)
    if size and request.awaits_consent:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return await reader.readexactly(size)
