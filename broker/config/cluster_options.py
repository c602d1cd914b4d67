"""What options say of the cluster that a broker is to join.

With ``process.roles=broker`` the controllers are Apache Kafka's; their addresses are
those of ``controller.quorum.bootstrap.servers``, or of the voters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .options.error import OptionError
from .options.listener import PLAINTEXT, SECURITY_PROTOCOLS, Listener, parse_host_port
from .options.security.per_listener import SecurityOptions

if TYPE_CHECKING:
    from .options.broker_config import BrokerConfig
    from .options.listener import HostPort

_PROTOCOLS: Final = "listener.security.protocol.map"
ROLES: Final = "process.roles"
VOTERS: Final = "controller.quorum.voters"
SERVERS: Final = "controller.quorum.bootstrap.servers"
LISTENER: Final = "inter.broker.listener.name"


class ClusterOptions(NamedTuple):
    """Whom to ask, and how often; ``listener_name`` is where brokers reach brokers."""

    controllers: tuple[HostPort, ...]
    listener_name: str
    heartbeat_interval_ms: int
    registration_timeout_ms: int
    request_timeout_ms: int
    shutdown_timeout_ms: int
    lag_max_ms: int = 30_000
    directory_failure_timeout_ms: int = 30_000


def cluster_options(config: BrokerConfig) -> ClusterOptions:
    """What a member's options say of its cluster.

    Raises:
        OptionError: no controllers are named, or one is no address; or the listener
            for brokers is not there, or nobody knows how controllers are spoken to.
    """
    named = config.controller_quorum_bootstrap_servers
    option = SERVERS if named else VOTERS
    found = []
    for each in named or config.controller_quorum_voters:
        try:
            address = parse_host_port(each.rpartition("@")[2])
        except ValueError as error:
            raise OptionError(f"{option}: {error}") from None
        if address is not None:
            found.append(address)
    if not found:
        raise OptionError(f"{ROLES}=broker needs {SERVERS}: where controllers listen")
    controllers = controller_listener(config)
    if controllers.has_tls:
        from .options.security.tls_checks import check_tls

        check_tls(SecurityOptions(config, controllers))
    return ClusterOptions(
        tuple(found),
        listener_for_brokers(config).name,
        config.broker_heartbeat_interval_ms,
        config.initial_broker_registration_timeout_ms,
        config.controller_quorum_request_timeout_ms,
        config.controlled_shutdown_timeout_ms,
        config.replica_lag_time_max_ms,
        config.log_dir_failure_timeout_ms,
    )


def listener_for_brokers(config: BrokerConfig) -> Listener:
    """The listener on which other brokers reach this one, and have one of that name.

    Raises:
        OptionError: there is none of the name that was set.
    """
    name = config.inter_broker_listener_name
    option = LISTENER
    if name is None and "security.inter.broker.protocol" in config.explicit:
        option = "security.inter.broker.protocol"
        name = config.security_inter_broker_protocol
    elif name is not None and "security.inter.broker.protocol" in config.explicit:
        raise OptionError(
            f"{LISTENER} and security.inter.broker.protocol are both set: leave the"
            " second out"
        )
    listeners = config.client_listeners
    if name is None:
        return listeners[0]
    for listener in listeners:
        if listener.name == name.upper():
            return listener
    there = ", ".join(each.name for each in listeners)
    raise OptionError(f"{option}={name}: listeners has {there}, and none of that name")


def controller_listener(config: BrokerConfig) -> Listener:
    """The listener of controllers, as their clients know it; it has no address.

    Raises:
        OptionError: nobody says which protocol it has.
    """
    if not config.controller_listener_names:
        raise OptionError("controller.listener.names is empty: how to ask controllers?")
    name = config.controller_listener_names[0].upper()
    protocols = dict(x.split(":") for x in config.listener_security_protocol_map)
    # As in Kafka: where there is no map, controllers are asked in plaintext.
    default = name if _PROTOCOLS in config.explicit else PLAINTEXT
    protocol = protocols.get(name, default)
    if protocol not in SECURITY_PROTOCOLS:
        raise OptionError(
            f"{_PROTOCOLS} does not say which protocol {name} has, the listener of"
            f" controllers: add {name}:PLAINTEXT, or what it is"
        )
    return Listener(name, "", 0, protocol)
