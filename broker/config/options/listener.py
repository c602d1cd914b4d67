"""A listener: a name, an address to bind or to tell clients, and its protocol."""

import re
from typing import NamedTuple

_LISTENER = re.compile(
    r"([A-Za-z0-9_.-]+)://(?:\[([0-9A-Fa-f:.%]+)\]|([^:/\s]*)):(\d+)"
)
_HOST_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^:/\s]*)):(\d+)")
LOOPBACK = frozenset({"localhost", "::1"})
PLAINTEXT = "PLAINTEXT"
SECURITY_PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Listener(NamedTuple):
    """``name://host:port``. No host means every interface, port 0 any free one.

    Its ``security_protocol`` is no part of the text: the map of protocols says it, and
    `BrokerConfig.client_listeners` puts it here.
    """

    name: str
    host: str
    port: int
    security_protocol: str = PLAINTEXT

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        return self.host in LOOPBACK or self.host.startswith("127.")

    @property
    def has_tls(self) -> bool:
        """Whether what its clients send is encrypted."""
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def has_login(self) -> bool:
        """Whether its clients log in by SASL."""
        return self.security_protocol.startswith("SASL_")

    @property
    def reached_at(self) -> str:
        """The host under which a process of this machine reaches it."""
        return "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host


class AddressLimit(NamedTuple):
    """How many connections one address may have: ``address:count``."""

    address: str
    limit: int

    def __str__(self) -> str:
        return f"{self.address}:{self.limit}"


def parse_address_limits(text: str) -> tuple[AddressLimit, ...]:
    """The limits of a comma-separated list.

    Raises:
        ValueError: one of them is not ``address:count``.
    """
    limits = []
    for part in text.split(","):
        address, colon, count = part.strip().rpartition(":")
        if not part.strip():
            continue
        if not (colon and address and count.isdecimal()):
            raise ValueError(f"{part.strip()!r} is not like 192.0.2.1:100")
        limits.append(AddressLimit(address.strip("[]"), int(count)))
    return tuple(limits)


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


class HostPort(NamedTuple):
    """``host:port`` of a listener without a name. No host means every interface."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        return Listener("", self.host, self.port).is_loopback


def parse_host_port(text: str) -> HostPort | None:
    """The address; None for an empty text.

    Raises:
        ValueError: it is not ``host:port``.
    """
    if not text:
        return None
    found = _HOST_PORT.fullmatch(text)
    if found is None or int(found[3]) > 65535:
        raise ValueError(f"{text!r} is not like 127.0.0.1:9404")
    return HostPort(found[1] or found[2], int(found[3]))


def parse_protocols(text: str) -> tuple[str, ...]:
    """The entries ``NAME:PROTOCOL`` of ``listener.security.protocol.map``, checked."""
    entries = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    for entry in entries:
        if entry.count(":") != 1:
            raise ValueError(f"{entry!r} is not like INTERNAL:PLAINTEXT")
    return entries
