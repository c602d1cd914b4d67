"""What the listeners with TLS need: their certificates, and who renews these."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.config.options.security.per_listener import SecurityOptions

if TYPE_CHECKING:
    from ssl import SSLContext, SSLObject

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.options.listener import Listener
    from odradek.broker.network.pre_auth import PreAuth
    from odradek.broker.network.tls.door import Tls
    from odradek.broker.node.parts import Parts
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.security.certificates.identity import Identity

_logger = logging.getLogger(__name__)


def make_tls(
    config: BrokerConfig, listener: Listener, clock: Clock, pre_auth: PreAuth
) -> Tls:
    """What a listener with TLS needs.

    Raises:
        StoreError: its key or certificate cannot be used.
    """
    # Only who wants it waits for it to be loaded.
    from odradek.broker.network.tls.door import Tls

    return Tls(make_identity(SecurityOptions(config, listener), clock), pre_auth)


def make_identity(options: SecurityOptions, clock: Clock) -> Identity:
    """The certificate of a listener: that of the start, if a later one cannot be used.

    Raises:
        StoreError: neither can.
    """
    from odradek.broker.security.certificates.identity import Identity
    from odradek.broker.security.certificates.stores import StoreError

    config, listener = options.config, options.listener
    try:
        return Identity(options, clock)
    except StoreError as error:
        if config.changes is None or not _is_changed(options):
            raise
        static = SecurityOptions(config.changes.static, listener)
        _logger.error(
            "listener %s begins with the certificate of its file of options: the one "
            "that was set later cannot be used: %s",
            listener.name,
            error,
        )
        identity = Identity(static, clock)
        identity.failure = str(error)
        return identity


def current_context(identity: Identity) -> SSLContext:
    """For a server that keeps its context: one whose handshakes are those of today.

    A handshake goes on with the certificate and the CAs of the current one.
    """
    context = identity.current.context

    def go_on(sock: SSLObject, name: str | None, first: SSLContext) -> None:
        sock.context = identity.current.context

    context.sni_callback = go_on
    return context


def renew_from_now_on(services: Parts, identity: Identity) -> None:
    """Have this certificate follow its files and its options."""
    from odradek.broker.security.certificates.renewal import Renewal

    if services.certificates is None:
        services.certificates = renewal = Renewal(services.disk_threads)
        services.live.watch(renewal.follow)
    services.certificates.identities.append(identity)


def _is_changed(options: SecurityOptions) -> bool:
    changes = options.config.changes
    return changes is not None and any(
        name.startswith(options.prefix) for name in changes.here
    )
