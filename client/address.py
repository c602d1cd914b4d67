"""Addresses of brokers, as ``bootstrap.servers`` lists them."""

from __future__ import annotations

from typing import NamedTuple

PORT = 9092


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_addresses(text: str) -> list[Address]:
    """The addresses in ``HOST:PORT,HOST:PORT``; without a port, 9092.

    Raises:
        ValueError: one of them is not an address, or there is none.
    """
    addresses = [_parse(part.strip()) for part in text.split(",") if part.strip()]
    if not addresses:
        raise ValueError("no address; write it like localhost:9092")
    return addresses


def _parse(text: str) -> Address:
    if text.startswith("["):  # an IPv6 address
        host, bracket, rest = text[1:].partition("]")
        colon, port = rest[:1], rest[1:]
        is_whole = bool(bracket) and colon in ("", ":")
    else:
        host, colon, port = text.partition(":")
        is_whole = True
    if not colon:
        port = str(PORT)
    if not (is_whole and host and port.isascii() and port.isdigit()):
        raise ValueError(f"{text!r} is not an address; write it like localhost:9092")
    if not colon and host.isascii() and host.isdigit():  # a port, most likely
        raise ValueError(f"{text!r} has no host; write it like localhost:{host}")
    if not 0 < int(port) <= 65535:
        raise ValueError(f"{text!r}: {port} is not a port (1-65535)")
    return Address(host, int(port))
