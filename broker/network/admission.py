"""Which connections are let in: how many, from one address, and how fast.

Loopback is exempt from the limits per address and per second: the clients of a
test machine all come from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.network import NetworkOptions
    from odradek.broker.runtime.clock import Clock


def is_loopback(address: str) -> bool:
    """Whether ``address`` is this machine itself."""
    return address.startswith(("127.", "::ffff:127.")) or address == "::1"


def _never(address: str) -> bool:
    """Without quotas nobody is over them."""
    return False


class Refusal(NamedTuple):
    """Why a connection may not be opened; ``limit`` is the option that says so."""

    limit: str
    reason: str


class Admission:
    """Counts the open connections of all listeners and refuses what is too much."""

    def __init__(self, options: NetworkOptions, clock: Clock) -> None:
        self._options = options
        self._own_limits = dict(options.max_connections_per_ip_overrides)
        self._clock = clock
        self.count = 0
        self.is_shut = False  # a test lets nobody in
        self.per_address: dict[str, int] = {}
        # Whether an address has come more often than its quota lets it.
        self.is_over_quota: Callable[[str], bool] = _never
        self._second = 0
        self._accepted_in_second = 0

    def update(self, options: NetworkOptions) -> None:
        """Go by these options from now on; whoever is in stays."""
        self._options = options
        self._own_limits = dict(options.max_connections_per_ip_overrides)

    def refusal(self, address: str) -> Refusal | None:
        """Count a new connection, or say why it may not be opened."""
        options = self._options
        if self.is_shut:
            return Refusal("test.control", "a test lets nobody in")
        if self.count >= options.max_connections:
            reason = f"{self.count} connections are open, the limit"
            return Refusal("max.connections", reason)
        if address in self._own_limits or not is_loopback(address):
            refusal = self._refusal_of_stranger(address)
            if refusal is not None:
                return refusal
        if self.is_over_quota(address):
            return Refusal("connection_creation_rate", "more often than its quota")
        self.count += 1
        self.per_address[address] = self.per_address.get(address, 0) + 1
        return None

    def release(self, address: str) -> None:
        """An admitted connection has ended."""
        self.count -= 1
        left = self.per_address[address] - 1
        if left:
            self.per_address[address] = left
        else:
            del self.per_address[address]

    def _refusal_of_stranger(self, address: str) -> Refusal | None:
        options = self._options
        most = self._own_limits.get(address, options.max_connections_per_ip)
        if self.per_address.get(address, 0) >= most:
            reason = f"{most} connections from it are open"
            return Refusal("max.connections.per.ip", reason)
        second = self._clock.monotonic_ms() // 1000
        if second != self._second:
            self._second = second
            self._accepted_in_second = 0
        if self._accepted_in_second >= options.max_connection_creation_rate:
            reason = f"more than {options.max_connection_creation_rate} a second"
            return Refusal("max.connection.creation.rate", reason)
        self._accepted_in_second += 1
        return None
