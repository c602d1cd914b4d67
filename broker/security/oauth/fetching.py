"""The document with the keys, fetched: blocking, for a thread, and within bounds.

What answers too slowly is cut off after `SECONDS_MAX`, however steadily it drips. No
answer leads anywhere else: redirects are not followed, proxies not asked.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE_MAX = 1 << 20
SECONDS_MAX = 5.0
_OK = 200
_KINDS: dict[str, type[HTTPConnection]] = {
    "http": HTTPConnection,
    "https": HTTPSConnection,
}


class NotFetched(Exception):
    """There is no document; says why."""


def fetch(url: str, context: ssl.SSLContext | None) -> bytes:
    """What is at ``url``.

    Raises:
        NotFetched: nothing, too much, or too late.
    """
    parts = urlsplit(url)
    try:
        if parts.scheme == "file":
            data = _of_file(Path(url2pathname(parts.path)))
        else:
            data = _of_server(url, context)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or error or type(error).__name__
        raise NotFetched(f"{url}: {reason}") from None
    if len(data) > SIZE_MAX:
        raise NotFetched(f"{url}: it has more than {SIZE_MAX >> 20} MiB")
    return data


def in_thread(
    job: Callable[[], Any], on_done: Callable[[Any, Exception | None], object]
) -> None:
    """Run ``job`` in a thread of its own, then ``on_done`` on this loop.

    Not one of those for the disk: a server that is slow must not keep logs waiting.
    """
    loop = asyncio.get_running_loop()

    def work() -> None:
        result, failure = None, None
        try:
            result = job()
        except Exception as error:
            failure = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits for it
            loop.call_soon_threadsafe(on_done, result, failure)

    threading.Thread(target=work, name="jwks", daemon=True).start()


def _of_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SIZE_MAX + 1)


def _of_server(url: str, context: ssl.SSLContext | None) -> bytes:
    parts = urlsplit(url)
    host = parts.hostname or ""
    connection = _KINDS[parts.scheme](host, parts.port)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with (
        _connected((host, connection.port), context) as connected,
        closing(connection),
        _Cutting(connected),
    ):
        if isinstance(connected, ssl.SSLSocket):
            connected.do_handshake()
        connection.sock = connected
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != _OK:
            raise NotFetched(f"{url}: the answer is {response.status}")
        return response.read(SIZE_MAX + 1)


def _connected(
    address: tuple[str, int], context: ssl.SSLContext | None
) -> socket.socket:
    """A connection; its handshake is yet to come, and can be cut off like the rest."""
    connected = socket.create_connection(address, SECONDS_MAX)
    if context is None:
        return connected
    try:
        return context.wrap_socket(
            connected, server_hostname=address[0], do_handshake_on_connect=False
        )
    except BaseException:
        connected.close()
        raise


class _Cutting:
    """Cuts a connection off after `SECONDS_MAX`, unless all is done by then."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected
        self._is_late = False
        self._timer = threading.Timer(SECONDS_MAX, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        """Half of an answer, or what went wrong, is no more than too late."""
        self._timer.cancel()
        if self._is_late:
            raise TimeoutError(f"it took more than {SECONDS_MAX:g} s")

    def _cut(self) -> None:
        self._is_late = True
        with suppress(OSError):
            self._connected.shutdown(socket.SHUT_RDWR)
