"""The options of a listener for the hosts by which clients come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.listener import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE, _EVERYWHERE = "127.0.0.1", "0.0.0.0"


def bootstrap(hosts: Sequence[str], port: int) -> str:
    """Where clients connect to: the first of the hosts, or this machine."""
    return f"{_in_address(hosts[0]) if hosts else _HERE}:{port}"


def listener_options(
    protocol: str, hosts: Sequence[str], port: int
) -> list[tuple[str, str]]:
    """For clients on other machines, if a host is not this machine's loopback."""
    is_far = any(not (each in LOOPBACK or each.startswith("127.")) for each in hosts)
    listened = _EVERYWHERE if is_far else _HERE
    found = [("listeners", f"{protocol}://{listened}:{port}")]
    if hosts:
        found.append(("advertised.listeners", f"{protocol}://{bootstrap(hosts, port)}"))
    return found


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
