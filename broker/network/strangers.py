"""Clients of another protocol, known by the first bytes of their connection.

    TLS          16 03: a record of a handshake
    HTTP         a method and a space; of HTTP/2 the preface "PRI * HTTP/2.0"
    SSH          "SSH-"
    PROXY        "PROXY ", or 0d 0a 0d 0a: a proxy says for whom it comes
    other text   four printable characters

Read as the length of a request, each is more than `socket.request.max.bytes` by
default: who sends a request that can be read is never looked at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.listener import PLAINTEXT, HostPort
from odradek.broker.runtime.memory.limits import LIMITS

if TYPE_CHECKING:
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.protocol.errors import MalformedRequest

    from .network import Network

_METHODS = frozenset(b"GET ,HEAD,POST,PUT ,DELE,OPTI,PATC,TRAC,CONN,PRI ".split(b","))
_PROXY = frozenset((b"PROX", b"\r\n\r\n"))
_ASKED = re.compile(rb"[A-Z]{3,7} /[!->@-~]{0,60}")  # method, path, no query
_KAFKA_HERE = "this port speaks Kafka's protocol"


class Stranger(NamedTuple):
    """Who is no client of Kafka: what it speaks, what helps, what it is answered."""

    protocol: str
    advice: str
    answer: bytes = b""


def farewell(
    network: Network,
    connection: ConnectionInfo,
    error: MalformedRequest,
    beginning: bytes,
) -> bytes:
    """Say in the log why a connection is closed; returns what to answer, if anything.

    ``beginning`` is how the connection began, where that could not be read.
    """
    who = f"closing the connection from {connection.peer_host}:{connection.peer_port}"
    stranger = recognise(beginning, connection, network.http_address())
    if stranger is not None and stranger.protocol == "TLS":
        stranger = _without_tls(_protocol_of(connection, network))
    if stranger is None:
        network.log.warn(f"{who}: {error}", LIMITS.get(type(error)))
        return b""
    network.log.warn_once(
        (stranger.protocol, connection.peer_host),
        f"{who} to {connection.listener_name}: {stranger.advice}",
    )
    return stranger.answer


def recognise(
    beginning: bytes, connection: ConnectionInfo, http: HostPort | None
) -> Stranger | None:
    """Who begins a connection so; ``http`` is where metrics and health are."""
    first = beginning[:4]
    if first[:2] == b"\x16\x03":
        return _without_tls(PLAINTEXT)
    if first in _METHODS:
        return _web_client(beginning, connection, http)
    if first == b"SSH-":
        return Stranger("SSH", f"it speaks SSH; {_KAFKA_HERE}")
    if first in _PROXY:
        advice = (
            "a proxy sends the PROXY protocol, which is not read here: turn it off "
            "there (send-proxy, proxy_protocol)"
        )
        return Stranger("PROXY", advice)
    if len(first) == 4 and first.isascii() and first.decode().isprintable():
        return Stranger("text", f"it sends text; {_KAFKA_HERE}")
    return None


def _without_tls(security_protocol: str) -> Stranger:
    with_tls = "SASL_SSL" if security_protocol.startswith("SASL") else "SSL"
    advice = (
        "it speaks TLS, which this listener does not: set "
        f"security.protocol={security_protocol} in the client, or give the broker a "
        f"listener with TLS (listeners={with_tls}://...)"
    )
    return Stranger("TLS", advice)


def _protocol_of(connection: ConnectionInfo, network: Network) -> str:
    """What is spoken on the listener of this connection."""
    protocols = {
        each.name: each.security_protocol for each in network.options.client_listeners
    }
    return protocols.get(connection.listener_name, PLAINTEXT)


def _web_client(
    beginning: bytes, connection: ConnectionInfo, http: HostPort | None
) -> Stranger:
    pages = "are off; http.listener=127.0.0.1:9404 gives them a port of their own"
    if http is not None:
        here = http._replace(host=connection.local_host) if _is_any(http) else http
        pages = f"are at http://{here}/metrics, /livez and /readyz"
    asked = _ASKED.match(beginning)
    request = "" if asked is None else f" ({asked[0].decode()})"
    advice = f"it speaks HTTP{request}; {_KAFKA_HERE}, metrics and health {pages}"
    return Stranger("HTTP", advice, _answer(beginning, connection, pages))


def _is_any(address: HostPort) -> bool:
    return address.host in ("", "0.0.0.0", "::")


def _answer(beginning: bytes, connection: ConnectionInfo, pages: str) -> bytes:
    """Status 400, with a text for people; as HTTP/1.1, whatever was asked."""
    here = HostPort(connection.local_host, connection.local_port)
    text = (
        "This port speaks Kafka's protocol, not HTTP. Kafka clients reach it with "
        f"bootstrap.servers={here}\n"
        f"Metrics and health over HTTP {pages}\n"
    )
    body = text.encode()
    head = (
        "HTTP/1.1 400 Bad Request\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()
    return head if beginning.startswith(b"HEAD") else head + body
