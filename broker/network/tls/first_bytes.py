"""The first bytes of a connection to a listener with TLS, looked at and left there.

16 03        a client of TLS: its hello
00           the length of a request of Kafka: it speaks without TLS
a method     HTTP without TLS
"""

from __future__ import annotations

from typing import Final

PEEKED_SIZE: Final = 8  # enough to see what it is
HELLO_SIZE_MAX: Final = 8 << 10  # longer than any client's
_HEADER_SIZE: Final = 5  # 16, the version, the size of what follows
_HANDSHAKE: Final = 0x16
_METHODS = tuple(b"GET ,HEAD,POST,PUT ,DELE,OPTI,PATC,TRAC,CONN,PRI ".split(b","))


def speaks_tls(beginning: bytes) -> bool:
    """Whether this may be a hello of TLS; one byte is enough to see that it is not."""
    return beginning[:1] == bytes((_HANDSHAKE,)) and beginning[1:2] in (b"", b"\x03")


def speaks_http(beginning: bytes) -> bool:
    """Whether this is HTTP as it is without TLS."""
    return beginning.startswith(_METHODS)


def hello_size(beginning: bytes) -> int:
    """How many bytes there are to a hello that begins so, as far as that is known.

    Of one that is longer than any client's only so much is waited for.
    """
    if len(beginning) < _HEADER_SIZE:
        return _HEADER_SIZE
    return min(_HEADER_SIZE + int.from_bytes(beginning[3:5]), HELLO_SIZE_MAX)


def advice_for(beginning: bytes, security_protocol: str) -> str:
    """What helps who connects to a listener of TLS and speaks something else."""
    if speaks_http(beginning):
        return "it speaks HTTP, without TLS; this port speaks Kafka's protocol over TLS"
    if beginning[:1] == b"\0":
        return (
            "it speaks Kafka's protocol without TLS: set "
            f"security.protocol={security_protocol} in the client"
        )
    return "it does not speak TLS, which this port does"
