"""A listener: a name, an address to bind or to tell clients, and its protocol."""

import re
from typing import NamedTuple

_LISTENER = re.compile(r"([A-Za-z0-9_]+)://(?:\[([0-9A-Fa-f:.%]+)\]|([^:/\s]*)):(\d+)")
LOOPBACK = frozenset({"localhost", "::1"})


class Listener(NamedTuple):
    """``name://host:port``. No host means every interface, port 0 any free one."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        return self.host in LOOPBACK or self.host.startswith("127.")


def parse_listeners(text: str) -> tuple[Listener, ...]:
    """The listeners of a comma-separated list.

    Raises:
        ValueError: one of them is not ``name://host:port``, or a name comes twice.
    """
    listeners = tuple(_parse(part.strip()) for part in text.split(",") if part.strip())
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ValueError("Each listener must have a different name")
    return listeners


def _parse(text: str) -> Listener:
    found = _LISTENER.fullmatch(text)
    if found is None or int(found[4]) > 65535:
        raise ValueError(f"{text!r} is not like PLAINTEXT://127.0.0.1:9092")
    return Listener(found[1].upper(), found[2] or found[3], int(found[4]))


def parse_protocols(text: str) -> tuple[str, ...]:
    """The entries ``NAME:PROTOCOL`` of ``listener.security.protocol.map``, checked."""
    entries = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    for entry in entries:
        if entry.count(":") != 1:
            raise ValueError(f"{entry!r} is not like INTERNAL:PLAINTEXT")
    return entries
