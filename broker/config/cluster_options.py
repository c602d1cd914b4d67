"""What options say of the cluster that a broker is to join.

With ``process.roles=broker`` the controllers are Apache Kafka's; their addresses are
those of ``controller.quorum.bootstrap.servers``, or of the voters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .options.listener import parse_host_port

if TYPE_CHECKING:
    from .options.broker_config import BrokerConfig
    from .options.listener import HostPort

ROLES: Final = "process.roles"
VOTERS: Final = "controller.quorum.voters"
SERVERS: Final = "controller.quorum.bootstrap.servers"
_BROKER: Final = "broker"


class ClusterOptions(NamedTuple):
    """Whom to ask, and how often."""

    controllers: tuple[HostPort, ...]
    heartbeat_interval_ms: int
    registration_timeout_ms: int
    request_timeout_ms: int
    shutdown_timeout_ms: int
    lag_max_ms: int = 30_000


def is_member(config: BrokerConfig) -> bool:
    """Whether the broker is one of a cluster with other nodes."""
    return config.foreign.get(ROLES, "").strip() == _BROKER


def cluster_options(config: BrokerConfig) -> ClusterOptions | None:
    """What is said of the cluster; None for a broker that is all of its own.

    Raises:
        ValueError: no controllers are named, or one is no address.
    """
    if not is_member(config):
        return None
    named = config.foreign.get(SERVERS) or config.foreign.get(VOTERS) or ""
    texts = [each.strip().rpartition("@")[2] for each in named.split(",")]
    found = tuple(each for each in map(parse_host_port, texts) if each)
    if not found:
        raise ValueError(f"{ROLES}={_BROKER} needs {SERVERS}: where controllers listen")
    return ClusterOptions(
        found,
        _number(config, "broker.heartbeat.interval.ms", 2_000),
        _number(config, "initial.broker.registration.timeout.ms", 60_000),
        _number(config, "controller.quorum.request.timeout.ms", 2_000),
        _number(config, "controlled.shutdown.timeout.ms", 30_000),
        _number(config, "replica.lag.time.max.ms", 30_000),
    )


def _number(config: BrokerConfig, name: str, default: int) -> int:
    return int(config.foreign.get(name, default))
