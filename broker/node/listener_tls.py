"""What the listeners with TLS need: their certificates, and who watches these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.security import SecurityOptions

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.options.listener import Listener
    from odradek.broker.network.pre_auth import PreAuth
    from odradek.broker.network.tls.door import Tls
    from odradek.broker.runtime.clock import Clock


def make_tls(
    config: BrokerConfig, listener: Listener, clock: Clock, pre_auth: PreAuth
) -> Tls | None:
    """What a listener needs for TLS; None: it has none.

    Raises:
        StoreError: its key or certificate cannot be used.
    """
    if not listener.has_tls:
        return None
    # Only who wants it waits for it to be loaded.
    from odradek.broker.network.tls.door import Tls
    from odradek.broker.security.certificates.identity import Identity

    identity = Identity(SecurityOptions(config, listener), clock)
    return Tls(identity, pre_auth)
