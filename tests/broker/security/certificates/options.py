"""The options of one listener with TLS, for tests."""

from pathlib import Path
from typing import Any

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.per_listener import SecurityOptions
from tests.certificates import Holder, authority, server


def tls_options(
    holder: Holder | None = None, *, protocol: str = "SSL", **more: Any
) -> SecurityOptions:
    """Those that have the broker show the certificate of ``holder``."""
    holder = holder or server()
    given: dict[str, Any] = {
        "ssl_certificate_file": str(holder.certificate),
        "ssl_key_file": str(holder.key),
        "ssl_ca_file": str(authority().certificate),
    }
    return bare_options(protocol=protocol, **{**given, **more})


def bare_options(*, protocol: str = "SSL", **more: Any) -> SecurityOptions:
    """Those that say nothing of certificates but what ``more`` does."""
    more = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in more.items()
    }
    listeners = (Listener(protocol, "127.0.0.1", 1),)
    return SecurityOptions.of(BrokerConfig(listeners=listeners, **more), protocol)
