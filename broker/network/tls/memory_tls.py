"""TLS on a socket by the public way, for a Python that has no other.

OpenSSL reads and writes memory here, and the bytes are carried to the socket and from
it. Two things are as they are where OpenSSL has the socket itself, since the transport
counts on them. No more is taken of the socket than the rest of a record: the loop knows
of the others. And what is encrypted and does not leave stays here: who writes is told
to wait for room, and writes the same again.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import socket

    from odradek.protocol.primitives import Buffer

_HEADER_SIZE: Final = 5  # of a record: type, version, and in two bytes the size


class MemoryTls:
    """An `SslObject` of a server, over a socket that does not block."""

    def __init__(self, context: ssl.SSLContext, sock: socket.socket) -> None:
        self._sock = sock
        self._come, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._come, self._out, server_side=True)
        self._header = b""
        self._lacking = 0  # of the record whose header was the last
        self._unsent = b""
        self._encrypted = 0  # bytes of what is written again

    def do_handshake(self) -> None:
        """Go on with the handshake."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._send()
                self._receive()
            except ssl.SSLError:
                with suppress(OSError):  # OpenSSL tells the client why
                    self._send()
                raise
            else:
                self._send()
                return

    def getpeercert(self, der: bool, /) -> bytes | None:
        """The client's certificate, encoded if ``der``."""
        return cast("bytes | None", self._tls.getpeercert(der))

    def pending(self) -> int:
        """How many decrypted bytes wait to be read."""
        return self._tls.pending()

    def read(self, size: int, into: memoryview, /) -> int:
        """Decrypt at most ``size`` bytes; how many. 0: the client has ended."""
        while True:
            try:
                return cast(int, self._tls.read(size, cast("Any", into)))
            except ssl.SSLWantReadError:
                with suppress(ssl.SSLWantWriteError):  # an answer to changed keys
                    self._send()
                self._receive()
            except ssl.SSLZeroReturnError:
                return 0

    def shutdown(self) -> None:
        """Tell the client that nothing more comes."""
        with suppress(ssl.SSLWantReadError):  # its own goodbye is not waited for
            self._tls.unwrap()
        self._send()

    def version(self) -> str | None:
        """Which version of TLS is spoken, once that is known."""
        return self._tls.version()

    def write(self, data: Buffer, /) -> int:
        """Encrypt and send; how many bytes of ``data``."""
        if not self._encrypted:
            self._send()
            self._encrypted = self._tls.write(data)
        self._send()
        encrypted, self._encrypted = self._encrypted, 0
        return encrypted

    def _receive(self) -> None:
        try:
            data = self._sock.recv(self._lacking or _HEADER_SIZE - len(self._header))
        except BlockingIOError:
            raise ssl.SSLWantReadError from None
        if not data:
            self._come.write_eof()
            return
        if self._lacking:
            self._lacking -= len(data)
        else:
            self._header += data
            if len(self._header) == _HEADER_SIZE:
                self._lacking = int.from_bytes(self._header[3:])
                self._header = b""
        self._come.write(data)

    def _send(self) -> None:
        self._unsent += self._out.read()
        while self._unsent:
            try:
                sent = self._sock.send(self._unsent)
            except BlockingIOError:
                raise ssl.SSLWantWriteError from None
            self._unsent = self._unsent[sent:]
