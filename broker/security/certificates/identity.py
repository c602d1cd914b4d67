"""The certificate of one listener, and what an operator has to know of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from .context import make_server_tls

if TYPE_CHECKING:
    from odradek.broker.config.options.security import SecurityOptions
    from odradek.broker.runtime.clock import Clock

WARNING_DAYS = 21
_DAY_MS = 86_400_000

_logger = logging.getLogger(__name__)


class Identity:
    """``current`` is what the next handshake is made with."""

    def __init__(self, options: SecurityOptions, clock: Clock) -> None:
        """Read the files of a listener.

        Raises:
            StoreError: what they hold cannot be used.
        """
        self.options = options
        self._clock = clock
        self.current = make_server_tls(options, clock.now_ms() / 1000)
        self._warn_of_hosts()
        self._warn_of_expiry()

    @property
    def days_left(self) -> float:
        """Until the certificate expires; negative: it has."""
        now_ms = self._clock.now_ms()
        return (self.current.certificate.not_after * 1000 - now_ms) / _DAY_MS

    def _warn_of_expiry(self) -> None:
        if self.days_left <= WARNING_DAYS:
            _logger.warning(
                "the certificate of listener %s (%s) expires in %d days",
                self.options.listener.name,
                self.current.where,
                int(self.days_left),
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
