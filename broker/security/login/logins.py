"""What the gates of one listener share: mechanisms, delays, counts, lifetimes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odradek.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.config.options.listener import Listener
    from odradek.broker.runtime.clock import Clock

    from .login_delay import LoginDelay
    from .mechanism import Identity, Mechanism

_GSSAPI_TOKEN = 0x60  # the first byte of a token (RFC 2743, section 3.1)


class LoginCounts:
    """How often, by mechanism; ``expired`` are connections whose login had ended."""

    def __init__(self) -> None:
        self.successes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.again: Counter[str] = Counter()
        self.expired = 0

    def note_success(self, mechanism: str, is_again: bool) -> None:
        """Somebody is in, or has logged in once more."""
        (self.again if is_again else self.successes)[mechanism] += 1

    def note_failure(self, mechanism: str) -> None:
        """Somebody is not."""
        self.failures[mechanism] += 1


@dataclass(frozen=True, slots=True)
class Logins:
    """Of one listener."""

    listener: Listener
    mechanisms: Mapping[str, Mechanism]
    max_reauth_ms: Mapping[str, int]
    clock: Clock
    delay: LoginDelay
    counts: LoginCounts = field(default_factory=LoginCounts)

    def close(self) -> None:
        """Nobody logs in any more."""
        for mechanism in self.mechanisms.values():
            mechanism.close()

    def lifetime_ms(self, mechanism: str, identity: Identity) -> int | None:
        """How long a login holds that has just been made; None: for good."""
        lifetimes = [self.max_reauth_ms.get(mechanism, 0) or None]
        if identity.expires_ms is not None:
            lifetimes.append(identity.expires_ms - self.clock.now_ms())
        return min((each for each in lifetimes if each is not None), default=None)

    def advice(self, api_key: int) -> str:
        """What to do for a client that begins with this in place of a login."""
        if api_key >> 8 == _GSSAPI_TOKEN:
            return (
                "it logs in by SASL (GSSAPI, as before Kafka 0.10); here are"
                f" {', '.join(self.mechanisms)}"
            )
        try:
            asked = ApiKey(api_key).name.title().replace("_", "")
        except ValueError:
            return "what it sent is no request of Kafka"
        return (
            f"{asked} without a login: set security.protocol="
            f"{self.listener.security_protocol} and sasl.mechanism in the client (here"
            f" are {', '.join(self.mechanisms)})"
        )
