"""Which broker a client with a certificate is shown: that of the folder, if any.

``server.properties`` there says where it listens; without that, the options of the
first client say where that one connects. A broker that `odradek secure init` has made
lets nobody in by a certificate: then what it lacks is shown, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.listener import (
    Listener,
    parse_listeners,
    parse_protocols,
)
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.protocol.properties import parse_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from odradek.broker.security.issuing.key_folder import KeyFolder

USUAL = "127.0.0.1:9093"  # as `odradek cert init` shows it
UNKNOWN = "HOST:PORT"
_LISTENERS, _ADVERTISED = "listeners", "advertised.listeners"
_BY_CERTIFICATE = "SSL"


class ShownBroker(NamedTuple):
    """Where clients connect to, and the options that the broker lacks for it."""

    bootstrap: str
    missing: tuple[tuple[str, str], ...] = ()


def shown_broker(folder: KeyFolder) -> ShownBroker:
    """The broker of the folder, or the usual one.

    Raises:
        IssuingError: its options cannot be read.
    """
    source = folder.path / "server.properties"
    options = _read(source)
    if not options:
        source = folder.path / "client.properties"
        client = _read(source).get("bootstrap.servers")
        if not client:
            return ShownBroker(USUAL)
        first, _, _ = client.partition(",")
        options = {_LISTENERS: f"SASL_SSL://{first.strip()}"}
    try:
        return _shown(folder, options)
    except ValueError as error:
        raise IssuingError(
            f"{source}: {error}; where clients connect to, --bootstrap-server says"
        ) from None


def _read(path: Path) -> Mapping[str, str]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise IssuingError(f"{path} is no text") from None
    return {entry.name: entry.value.strip() for entry in parse_properties(text)}


def _shown(folder: KeyFolder, options: Mapping[str, str]) -> ShownBroker:
    listeners = parse_listeners(options.get(_LISTENERS, ""))
    told = parse_listeners(options.get(_ADVERTISED, ""))
    entries = parse_protocols(options.get("listener.security.protocol.map", ""))
    protocols = dict(entry.split(":") for entry in entries)
    by_name = {each.name: each for each in told}
    for listener in listeners:
        if protocols.get(listener.name, listener.name) == _BY_CERTIFICATE:
            return ShownBroker(_address(by_name.get(listener.name, listener)))
    if not listeners:
        return ShownBroker(USUAL)
    added = Listener(_BY_CERTIFICATE, listeners[0].host, _free_port(listeners))
    shown = added._replace(host=told[0].host) if told else added
    missing = [(_LISTENERS, _joined(*listeners, added))]
    if told:
        missing.append((_ADVERTISED, _joined(*told, shown)))
    missing.append(("ssl.client.auth", "required"))
    missing.append(("ssl.ca.file", str(folder.ca)))
    return ShownBroker(_address(shown), tuple(missing))


def _free_port(listeners: tuple[Listener, ...]) -> int:
    """The first behind that of the first listener; 0, any, if that has any."""
    taken = {each.port for each in listeners}
    first = listeners[0].port
    after = range(first + 1, 1 << 16) if first else ()
    return next((port for port in after if port not in taken), 0)


def _joined(*listeners: Listener) -> str:
    return ",".join(map(str, listeners))


def _address(listener: Listener) -> str:
    """As clients write it; `UNKNOWN` where any port will do."""
    if not listener.port:
        return UNKNOWN
    return str(listener._replace(host=listener.reached_at)).partition("://")[2]
