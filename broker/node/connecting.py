"""How a broker of a cluster reaches the others, and where they reach it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.config.cluster_options import (
    controller_listener,
    listener_for_brokers,
)
from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.outgoing import Outgoing

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.cluster_options import ClusterOptions
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.quorum.image.image import Endpoint
    from odradek.client.address import Address
    from odradek.client.connection import Connection

_PROTOCOL_NUMBERS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


def connecting_to_controllers(
    config: BrokerConfig, options: ClusterOptions
) -> Callable[[Address], Connection]:
    """What makes a connection to a controller."""
    return _connecting(
        options,
        SecurityOptions(config, controller_listener(config)),
        "sasl.mechanism.controller.protocol",
    )


def connecting_to_brokers(
    config: BrokerConfig, options: ClusterOptions
) -> Callable[[Address], Connection]:
    """What makes a connection to another broker, on the listener for brokers."""
    return _connecting(
        options,
        SecurityOptions(config, listener_for_brokers(config)),
        "sasl.mechanism.inter.broker.protocol",
    )


def _connecting(
    options: ClusterOptions, security: SecurityOptions, mechanism_option: str
) -> Callable[[Address], Connection]:
    outgoing = Outgoing(security, mechanism_option)
    return partial(_connect, options.request_timeout_ms / 1000, outgoing)


def _connect(timeout_s: float, outgoing: Outgoing, address: Address) -> Connection:
    from odradek.client.connection import Connection

    security = outgoing.security()
    return Connection(
        address.host, address.port, timeout_s=timeout_s, security=security
    )


def endpoints_of(config: BrokerConfig) -> tuple[Endpoint, ...]:
    """Where others reach the listeners of this broker.

    Raises:
        StartError: nobody says it of one.
    """
    from odradek.broker.quorum.image.image import Endpoint

    endpoints = []
    for listener in config.client_listeners:
        address = config.advertised_address(listener.name)
        if address is None:
            if listener.host in ("", "0.0.0.0", "::") or not listener.port:
                raise StartError(
                    f"advertised.listeners must say where others reach {listener}"
                )
            address = listener.host, listener.port
        number = _PROTOCOL_NUMBERS[listener.security_protocol]
        endpoints.append(Endpoint(listener.name, *address, number))
    return tuple(endpoints)
