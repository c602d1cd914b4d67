"""Which listeners a broker may have: their protocols, who reaches them, what is told.

Whoever reaches a listener from another machine has to say who it is, unless somebody
wants it otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import SECURITY_PROTOCOLS

from .per_listener import SecurityOptions

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.options.listener import HostPort, Listener


def check_listeners(config: BrokerConfig) -> None:
    """See that all of them can be opened.

    Raises:
        OptionError: one of them is impossible, or must not be as it is.
    """
    if not config.client_listeners:
        raise OptionError("listeners names no listener for clients")
    for listener in config.client_listeners:
        _check_protocol(listener)
        options = SecurityOptions(config, listener)
        if listener.has_tls:
            from .tls_checks import check_tls

            check_tls(options)
        if listener.has_login:
            from .login_checks import check_login

            check_login(options)
        is_open = not (options.asks_who_it_is or listener.is_loopback)
        if is_open and not config.allow_unauthenticated:
            raise OptionError(_open_to_all(listener))
        _check_steered(config, listener)
    if config.plain_users_file or config.of_listeners:
        from .unused_logins import check_used

        check_used(config)
    has_tls = any(listener.has_tls for listener in config.client_listeners)
    has_tls = has_tls or SecurityOptions.of_http(config) is not None
    if config.ssl_client_auth != "none" and not has_tls:
        raise OptionError(
            f"ssl.client.auth={config.ssl_client_auth}, and no listener has TLS, so no "
            "client shows a certificate: leave it out, or open one like "
            "listeners=SSL://127.0.0.1:9093"
        )
    if config.http_listener is not None:
        _check_http(config, config.http_listener)
    _check_advertised(config)


def _check_http(config: BrokerConfig, http: HostPort) -> None:
    options = SecurityOptions.of_http(config)
    if options is not None:
        from .tls_checks import check_tls

        check_tls(options)
    is_closed = options is not None and options.asks_who_it_is
    if not (is_closed or http.is_loopback or config.allow_unauthenticated):
        raise OptionError(
            f"http.listener {http} can be reached from other machines: add "
            "--allow-unauthenticated to let everybody read it, or use 127.0.0.1; with "
            "http.listener.security.protocol=SSL and "
            "http.listener.ssl.client.auth=required only who has a certificate reads it"
        )
    _check_steered(config, http)


def _check_advertised(config: BrokerConfig) -> None:
    names = {listener.name for listener in config.client_listeners}
    for listener in config.without_controllers(config.advertised_listeners):
        if listener.name not in names:
            raise OptionError(
                f"advertised.listeners has {listener}, but listeners has no "
                f"{listener.name}"
            )
        if not listener.host or not listener.port:
            raise OptionError(
                f"advertised.listeners has {listener}: clients need a host and a "
                "port that they can connect to"
            )
        if listener.host in ("0.0.0.0", "::"):
            raise OptionError(
                f"advertised.listeners has {listener}: no client can connect to "
                "that; leave it out, and clients are told the address they used"
            )


def _check_steered(config: BrokerConfig, address: Listener | HostPort) -> None:
    if config.test_control and not (address.is_loopback or config.test_control_token):
        raise OptionError(
            f"test.control=true, and listener {address} can be reached from other "
            "machines: set test.control.token, which who steers the broker must "
            "then know, or use 127.0.0.1"
        )


def _open_to_all(listener: Listener) -> str:
    """Why a listener is refused, and the two ways out."""
    every = "" if listener.host else " has no host, so it"
    here = listener._replace(host="127.0.0.1")
    return (
        f"listener {listener}{every} can be reached from other machines, and there is "
        "no authentication: let everybody in with --allow-unauthenticated "
        "(allow.unauthenticated=true in a file), or let only this machine in with "
        f"--host 127.0.0.1 (listeners={here} in a file)"
    )


def _check_protocol(listener: Listener) -> None:
    protocol = listener.security_protocol
    if protocol not in SECURITY_PROTOCOLS:
        raise OptionError(
            f"listener {listener} wants protocol {protocol}, and there are "
            f"{', '.join(SECURITY_PROTOCOLS)}: if {listener.name} is a name, say what "
            f"it stands for with listener.security.protocol.map={listener.name}:"
            "PLAINTEXT"
        )
