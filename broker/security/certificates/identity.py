"""The certificate of one listener, and what an operator has to know of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .context import make_server_tls
from .look import look_at

if TYPE_CHECKING:
    from odradek.broker.config.options.security.per_listener import SecurityOptions
    from odradek.broker.runtime.clock import Clock

    from .context import ServerTls
    from .look import Look

WARNING_DAYS = 21
_DAY_MS = 86_400_000

_logger = logging.getLogger(__name__)


class Identity:
    """``current`` is what the next handshake is made with.

    ``failure`` says why the last attempt to renew it has failed; None: it has not.
    """

    def __init__(self, options: SecurityOptions, clock: Clock) -> None:
        """Read the files of a listener.

        Raises:
            StoreError: what they hold cannot be used.
        """
        self.options = options
        self._clock = clock
        self.seen: Look = look_at(options)
        self.current: ServerTls = make_server_tls(options, self.now_s)
        self.failure: str | None = None
        self.renewed_count = self.failed_count = 0
        self._warned_ms: int | None = None
        self.say_what_is_odd()

    @property
    def name(self) -> str:
        """The name of the listener."""
        return self.options.listener.name

    @property
    def now_s(self) -> float:
        """What the clock says, in seconds since 1970."""
        return self._clock.now_ms() / 1000

    @property
    def days_left(self) -> float:
        """Until the certificate expires; negative: it has."""
        now_ms = self._clock.now_ms()
        return (self.current.certificate.not_after * 1000 - now_ms) / _DAY_MS

    def take(self, made: ServerTls, seen: Look) -> bool:
        """Make handshakes with ``made``. Returns whether that is anything new."""
        is_new = made.made_of != self.current.made_of
        self.current, self.seen, self.failure = made, seen, None
        self.renewed_count += is_new
        if is_new:
            self._warned_ms = None
            self.say_what_is_odd()
        return is_new

    def refuse(self, why: str, seen: Look) -> None:
        """Go on with the current one: with what is there now there is no handshake."""
        self.failure, self.seen = why, seen
        self.failed_count += 1

    def warn_of_expiry(self) -> None:
        """Once a day, when little time is left."""
        now_ms = self._clock.now_ms()
        if self._warned_ms is not None and now_ms - self._warned_ms < _DAY_MS:
            return
        if self.days_left > WARNING_DAYS:
            return
        self._warned_ms = now_ms
        days = int(self.days_left)
        _logger.warning(
            "the certificate of listener %s (%s) %s",
            self.name,
            self.current.where,
            f"expires in {days} days" if self.days_left > 0 else "has expired",
        )

    def say_what_is_odd(self) -> None:
        """Warn of what clients will not like."""
        self._warn_of_hosts()
        self.warn_of_expiry()
        early_s = self.current.certificate.not_before - self.now_s
        if early_s > 0:
            _logger.warning(
                "the certificate of listener %s (%s) is not valid for another %d "
                "seconds: is the clock of this machine right?",
                self.name,
                self.current.where,
                early_s,
            )

    def _warn_of_hosts(self) -> None:
        """Say which host clients are told that the certificate is not for."""
        config, listener = self.options.config, self.options.listener
        told = config.advertised_address(listener.name)
        host = listener.host if told is None else told[0]
        certificate = self.current.certificate
        if host in ("", "0.0.0.0", "::") or certificate.is_for(host):
            return
        names = ", ".join(sorted(certificate.names)) or "no host"
        _logger.warning(
            "clients of listener %s are told to connect to %s, and its certificate is "
            "for %s: those that check host names will not",
            listener.name,
            host,
            names,
        )
