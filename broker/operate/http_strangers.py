"""Who comes to the port of metrics and health and speaks something else.

Of TLS where there is none, none where there is TLS, and Kafka's protocol the log says
what to set, once a minute at most for each address. HTTP without TLS is answered, too.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.network.tls.first_bytes import (
    PEEKED_SIZE,
    speaks_http,
    speaks_tls,
)

if TYPE_CHECKING:
    from odradek.broker.config.options.listener import HostPort
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.memory.limits import LimitedLog

PROTOCOL: Final = "http.listener.security.protocol"
_HERE: Final = "this is the port of metrics and health (http.listener)"
_KAFKA: Final = (
    f"it speaks Kafka's protocol; {_HERE}: set bootstrap.servers in the client to the"
    " port of a listener (listeners)"
)


class HttpPort(NamedTuple):
    """Where clients come; with ``tls`` each begins with a handshake."""

    address: HostPort
    log: LimitedLog
    clock: Clock
    tls: ssl.SSLContext | None = None

    def note(self, peer_host: str, advice: str) -> None:
        """Say in the log why the connection from there is closed."""
        line = f"closing the connection from {peer_host} to http.listener: {advice}"
        self.log.warn_once(("HTTP", peer_host, advice), line)


class Guest(NamedTuple):
    """A client that is answered: what it asks, or why that is not."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    refusal: str


def advice_without_tls(beginning: bytes) -> str:
    """What helps who begins so on a port without TLS; empty: it may be HTTP."""
    if speaks_tls(beginning):
        return (
            "it speaks TLS, which this port does not: ask for http://, not https://, or"
            f" set {PROTOCOL}=SSL"
        )
    return _KAFKA if beginning[:1] == b"\0" else ""


def advice_with_tls(beginning: bytes) -> str:
    """What helps who begins so on a port with TLS; empty: it may be TLS."""
    if speaks_tls(beginning):
        return ""
    if speaks_http(beginning):
        return f"it speaks HTTP without TLS, and {PROTOCOL}=SSL here: ask for https://"
    if beginning[:1] == b"\0":
        return _KAFKA
    return f"it does not speak TLS, and {PROTOCOL}=SSL here"


def advice_after(error: ssl.SSLError) -> str:
    """What helps whose handshake has failed so."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return (
            "it has shown no certificate, and http.listener.ssl.client.auth=required"
            " here: give it one (curl --cert, tls_config of Prometheus)"
        )
    return f"no handshake of TLS: {error.reason or error}"


async def enter(
    port: HttpPort, sock: socket.socket, peer_host: str, limit: int, timeout_s: float
) -> Guest | None:
    """Make a handshake with who has connected to a port with TLS.

    None: the connection is closed. Who reads for a while gets no more than ``limit``.
    """
    try:
        async with asyncio.timeout(timeout_s):
            beginning = await _first_bytes(sock)
            refusal = advice_with_tls(beginning) if beginning else ""
            if refusal:
                port.note(peer_host, refusal)
            if beginning and (not refusal or speaks_http(beginning)):
                tls = None if refusal else port.tls
                return Guest(*await _streams(sock, tls, limit), refusal)
    except ssl.SSLError as error:
        port.note(peer_host, advice_after(error))
    except OSError:
        pass  # lost, or late
    except asyncio.CancelledError:
        sock.close()
        raise
    sock.close()
    return None


async def _first_bytes(sock: socket.socket) -> bytes:
    """How a client begins, which is still to be read; empty: it has hung up."""
    loop, fd = asyncio.get_running_loop(), sock.fileno()
    while True:
        has_come = asyncio.Event()
        loop.add_reader(fd, has_come.set)
        try:
            await has_come.wait()
        finally:
            loop.remove_reader(fd)
        try:
            return sock.recv(PEEKED_SIZE, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            continue


async def _streams(
    sock: socket.socket, tls: ssl.SSLContext | None, limit: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """To read from a client and to write to it, after a handshake if there is ``tls``.

    Raises:
        OSError: there is none.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock, ssl=tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
