"""What OpenSSL does with a socket: the object that `ssl.SSLSocket` has inside.

`SSLSocket` is another socket around the first, asks the system what it has been told
already, and adds a call of its own to each of these: a tenth of the instructions that
a connection takes besides OpenSSL's handshake, and six system calls. Of what it adds
nothing is used here. The way to the object has no name for the public; it is the one
that the module `ssl` itself takes, from Python 3.11 to 3.13 alike. Where a Python has
none, the public way is gone, over memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import socket
    import ssl

    from odradek.protocol.primitives import Buffer


class SslObject(Protocol):
    """TLS on a socket that does not block, and that somebody else keeps open.

    Each call raises `ssl.SSLWantReadError` or `ssl.SSLWantWriteError` where it would
    have to wait, and `OSError` where there is nothing to wait for.
    """

    def do_handshake(self) -> None:
        """Go on with the handshake."""

    def getpeercert(self, der: bool, /) -> bytes | None:
        """The client's certificate, encoded if ``der``."""

    def pending(self) -> int:
        """How many decrypted bytes wait to be read."""

    def read(self, size: int, into: memoryview, /) -> int:
        """Decrypt at most ``size`` bytes; how many. 0: the client has ended."""

    def shutdown(self) -> object:
        """Tell the client that nothing more comes."""

    def version(self) -> str | None:
        """Which version of TLS is spoken, once that is known."""

    def write(self, data: Buffer, /) -> int:
        """Encrypt and send; how many bytes of ``data``."""


def server_side(context: ssl.SSLContext, sock: socket.socket) -> SslObject:
    """TLS for who has accepted ``sock``; the handshake has yet to be made."""
    wrap = getattr(context, "_wrap_socket", None)
    if wrap is None:
        from .memory_tls import MemoryTls

        return MemoryTls(context, sock)
    made: SslObject = wrap(sock, server_side=True)
    return made
